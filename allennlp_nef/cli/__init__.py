"""The `allennlp-nef` program, and the commands of this package.

A command's module has `SUMMARY` and `DETAILS` for its help, `add_arguments`, a public Python function that does the
work, and `run`, which calls that function with the command line options and yields the lines to print.
"""

COMMANDS = (
    "align-words",
    "calibrate",
    "check-data",
    "examples",
    "export",
    "label-post-edits",
    "models",
    "options",
    "plot-sketches",
    "predict",
    "review",
    "score-tags",
    "serve",
    "tag-corpus",
)
REPLACED = ("predict", "serve")
"""Commands that AllenNLP or allennlp-server have, too; the program `allennlp` keeps theirs."""
