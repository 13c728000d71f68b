"""Lets `import allennlp` go through `allennlp_nef.compat`, from the start of Python on.

Without it the program `allennlp`, which imports AllenNLP before any plugin, could not start on current packages.
`allennlp_nef.pth` (up to Python 3.17) and `allennlp_nef.start` (from 3.15 on, PEP 829) import this module, which is
installed beside them. `ALLENNLP_NEF_COMPAT=0` turns it off. Each start of Python pays for the imports here.
"""

# mypy: ignore-errors
import os
import sys

PACKAGES = ("allennlp", "allennlp_models", "allennlp_server", "cached_path")
"""The packages that are installed without their dependencies."""


class Finder:
    """Finds the modules of `PACKAGES` with the other finders, and adapts how they are loaded."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of a module; None for the modules of other packages."""
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        others = (finder for finder in sys.meta_path if finder is not Finder)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None:
            compat = _compat()
            if compat is not None:
                compat.adapt(spec)
        return spec


def _compat():
    """The module `allennlp_nef.compat`, loaded without its package, which imports AllenNLP.

    None if the package is gone, as after an editable checkout was deleted.
    """
    name = "allennlp_nef.compat"
    if name not in sys.modules:
        from importlib.util import find_spec, module_from_spec, spec_from_file_location

        package = find_spec("allennlp_nef")
        if package is None or package.origin is None:
            return None
        path = os.path.join(os.path.dirname(package.origin), "compat.py")
        spec = spec_from_file_location(name, path)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


is_program = False
"""Whether this process is the program `allennlp-nef`."""


def main():
    """Runs the program `allennlp-nef`. It imports the package without its components, which only some commands need."""
    global is_program
    is_program = True
    from allennlp_nef.cli.program import main as run

    run()


def install():
    """Puts the finder before all others."""
    if os.environ.get("ALLENNLP_NEF_COMPAT") != "0" and Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


install()
