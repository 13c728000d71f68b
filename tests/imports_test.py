"""`--include-package allennlp_nef` imports every public module, also without optional packages, and changes nothing."""

import subprocess
import sys

PROGRAM = """
import sys

OPTIONAL = {optional}

class Hidden:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden)
from allennlp.common.util import import_module_and_submodules

import_module_and_submodules("allennlp_nef")
from allennlp.data.fields import SequenceLabelField

assert not SequenceLabelField._already_warned_namespaces  # of all projects
assert "allennlp_nef.qe.bitext" in sys.modules and "allennlp_nef.serving" in sys.modules
"""
OPTIONAL = [
    *("flask", "flask_cors", "gevent", "gunicorn", "lxml", "matplotlib", "onnx"),
    *("onnxruntime", "onnxscript", "pandas", "pyarrow", "ray", "sacremoses"),
]


def test_public_modules_need_no_extra_and_print_nothing():
    program = PROGRAM.format(optional=OPTIONAL)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
