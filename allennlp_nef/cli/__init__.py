"""The program `allennlp-nef` and the commands of this package.

The module of a command has `SUMMARY`, `DETAILS`, `add_arguments`, its work as a public function, and `run`, which does
the work with the options of the command line and yields the lines to print.

Importing this module needs neither torch nor AllenNLP: commands import them in their functions.
"""

from types import ModuleType

from allennlp_nef.cli import (
    align_words,
    calibrate,
    card,
    check_archive,
    check_data,
    ensemble,
    examples,
    export,
    plot_labels,
    plot_sketches,
    plot_steps,
    score_tags,
    tag_corpus,
)

COMMANDS: dict[str, ModuleType] = {
    "align-words": align_words,
    "calibrate": calibrate,
    "card": card,
    "check-archive": check_archive,
    "check-data": check_data,
    "ensemble": ensemble,
    "examples": examples,
    "export": export,
    "plot-labels": plot_labels,
    "plot-sketches": plot_sketches,
    "plot-steps": plot_steps,
    "score-tags": score_tags,
    "tag-corpus": tag_corpus,
}
WITHOUT_COMPONENTS = ("align-words", "examples", "score-tags")
"""The commands that load no models. The others need the components of this package and of plugins."""
