"""The program `allennlp-nef`, and the commands of this package.

The module of a command has `SUMMARY` and `DETAILS` for its help, `add_arguments`, its work as a public Python function,
and `run`, which calls that function with the options of the command line and yields the lines to print.
"""

COMMANDS = (
    "align-words",
    "calibrate",
    "card",
    "check-data",
    "examples",
    "export",
    "models",
    "plot-sketches",
    "review",
    "score-tags",
    "tag-corpus",
)
