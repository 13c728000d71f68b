"""Runs when Python starts (`allennlp_nef.pth`): lets `import allennlp` go through `allennlp_nef.compat`.

Without it the program `allennlp`, which imports AllenNLP before any plugin, would not start on current packages. Only
`sys` is imported here, as each start of Python pays for it.
"""

# mypy: ignore-errors
import sys

PACKAGES = ("allennlp", "allennlp_models", "allennlp_server", "cached_path")
"""The packages that are installed without their requirements, and see others through `allennlp_nef.compat`."""


class Finder:
    """Finds the modules of `PACKAGES`, and of no others."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """The spec of a module; None for modules of other packages."""
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        return _compat().find_spec(fullname, path, target)


def _compat():
    """The module `allennlp_nef.compat`, loaded without its package, which imports AllenNLP."""
    name = "allennlp_nef.compat"
    if name not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location
        from os.path import dirname, join

        path = join(dirname(__file__), "allennlp_nef", "compat.py")
        spec = spec_from_file_location(name, path)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


sys.meta_path.insert(0, Finder)
