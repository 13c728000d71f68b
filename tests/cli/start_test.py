"""How `allennlp-nef` starts: what it imports, and what it costs."""

import os
import resource
import subprocess
import sys

import pytest

CPU_SECONDS = 1.5
# Runs commands one after the other, and tells what has been imported by then.
PROGRAM = """
import sys
from allennlp_nef_console import main

for arguments in {commands!r}:
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    heavy = [name for name in ("allennlp", "torch", "transformers", "matplotlib") if name in sys.modules]
    print("status", status, "imported", heavy)
"""


@pytest.fixture
def start(root, tmp_path):
    """`start(*arguments)`: the lines of stdout and stderr of a Python program in an empty folder, and its CPU time."""

    def run(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=str(tmp_path),
            env={
                **os.environ,
                "PYTHONPATH": str(root),
                "PYTHONWARNINGS": "",
                "OMP_NUM_THREADS": "1",
            },
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines(), seconds

    return run


def test_commands_without_a_model_import_neither_torch_nor_allennlp(start, tmp_path):
    (tmp_path / "both.conll").write_text("a B-A B-A\nb O B-A\n")
    commands = [
        ["--help"],
        ["--version"],
        *([name, "--help"] for name in ("examples", "plot-labels", "plot-sketches", "score-tags")),
        ["score-tags", "both.conll", "--format", "conll", "--include-package", "allennlp_nef"],
        ["examples", "new"],
    ]
    out, err, seconds = start("-c", PROGRAM.format(commands=commands))
    found = [line for line in out if line.startswith("status ")]
    assert found == ["status 0 imported []"] * len(commands)
    assert "processed 2 tokens with 1 phrases; found: 2 phrases; correct: 1." in out
    assert (tmp_path / "new" / "training_configs" / "qe_nef_f.jsonnet").is_file()
    assert not err
    assert seconds < CPU_SECONDS  # of all of them


SPAWN = """
import logging
import multiprocessing
import sys
from allennlp_nef_console import main

def child():
    from allennlp.models import Model, archival
    from allennlp_nef.cli.terminal import TerminalHandler
    print("registered", Model.by_name("nef_tagger").__name__)
    print("safe", archival.extracted_archive.__module__)
    print("quiet", [type(handler) is TerminalHandler for handler in logging.getLogger("allennlp").handlers])

if __name__ == "__main__":
    assert main(["score-tags", "both.conll", "--format", "conll"]) == 0
    print("light", "allennlp" not in sys.modules)
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


def test_spawned_processes_know_the_components_are_safe_and_quiet(start, tmp_path):
    """Distributed training spawns its processes; the program's script imports `main` as this one does."""
    (tmp_path / "both.conll").write_text("a B-A B-A\n")
    (tmp_path / "script.py").write_text(SPAWN)
    out, err, _ = start("script.py")
    assert out[-4:] == [
        "light True",
        "registered NefTagger",
        "safe allennlp_nef.predictors.archives",
        "quiet [True]",
    ]
    assert not err  # warnings of other packages too, on a stack that has some


WITH_TORCH_ALONE = """
import importlib.abc
import sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from allennlp_nef.nn.constrained_softmax import constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax
import torch
for function in (constrained_softmax, constrained_sparsemax):
    print(function(torch.zeros(4), torch.tensor([0.1, 1, 1, 1])))
print("imported", sorted(name for name in sys.modules if name.startswith("allennlp")))
"""


def test_functions_with_upper_bounds_need_torch_alone(start):
    """One import, where nothing else that the package depends on is installed."""
    missing = ["allennlp", "entmax", "overrides", "sklearn", "spacy", "torchcrf"]
    out, _, _ = start("-c", WITH_TORCH_ALONE.format(missing=missing))
    assert out[:2] == ["tensor([0.1000, 0.3000, 0.3000, 0.3000])"] * 2
    imported = out[-1].replace("allennlp_nef.nn.", "")
    assert imported == (
        "imported ['allennlp_nef', 'allennlp_nef.compat', 'allennlp_nef.nn', 'constrained_softmax', "
        "'constrained_sparsemax', 'numerics', 'allennlp_nef.version']"
    )


@pytest.mark.parametrize(
    "arguments, unbuffered",
    [
        (["score-tags", "both.conll", "--format=conll"], ""),
        (["score-tags", "both.conll", "--format=conll"], "1"),
    ],
)
def test_a_reader_of_the_output_may_end_early(root, tmp_path, arguments, unbuffered):
    (tmp_path / "both.conll").write_text("a B-A B-A\nb O B-A\n")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "allennlp_nef_console", *arguments],
        cwd=str(tmp_path),
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": unbuffered},
        stdout=write,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")
