"""The program `allennlp-nef` and the commands of this package.

The module of a command has `SUMMARY`, `DETAILS`, `add_arguments`, its work as a public function, and `run`, which does
the work with the options of the command line and yields the lines to print.

Importing this module needs neither torch nor AllenNLP: commands import them in their functions.
"""

from importlib import import_module

_NAMES = (
    "align-words calibrate card check-archive check-data ensemble examples export models plot-labels plot-sketches "
    "plot-steps review score-tags tag-corpus"
)
COMMANDS = {name: import_module(f"{__name__}.{name.replace('-', '_')}") for name in _NAMES.split()}
WITHOUT_COMPONENTS = ("align-words", "examples", "models", "score-tags")
"""The commands that load no models. The others need the components of this package and of plugins."""
