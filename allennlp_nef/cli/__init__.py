"""The `allennlp-nef` program, and the commands of this package.

A command's module has `DETAILS` for its help, `add_arguments`, a public Python function that does the work, and `run`,
which calls that function with the command line options and yields the lines to print. Modules import what takes long
where it is used, so that a program starts in the time of its own command.
"""

COMMANDS = {
    "align-words": "Align the words of sentences with those of their translations, for quality estimation.",
    "calibrate": "Calibrate the probabilities of a quality estimator, and choose its threshold.",
    "check-data": "Check the data of a config, or other files, before training.",
    "examples": "Copy the example configs, the small data sets they read, and the web pages into a folder.",
    "export": "Export a tagger as an ONNX graph, with a program that tags without torch.",
    "label-post-edits": "Compute gold tags and HTER from translations and their post-edits.",
    "models": "List the trained models that come with the package, or describe one of them.",
    "options": "Print the options of a registered component, or list the components of this package.",
    "plot-sketches": "Plot what the steps of a tagger attend to, sentence by sentence.",
    "predict": "Answer the requests in a file, with one JSON object per line.",
    "review": "Write an HTML report for reviewers of translations, riskiest sentences first.",
    "score-tags": "Score files of predicted tags against gold tags, and compare two systems.",
    "serve": "Serve a model over HTTP, with a web page.",
    "tag-corpus": "Tag large files with Ray Data, on one machine or on a cluster.",
}
"""The commands of this package, each with its summary."""
REPLACED = ("predict", "serve")
"""Commands that AllenNLP or allennlp-server have, too; the program `allennlp` keeps theirs."""
