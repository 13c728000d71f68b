import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust

_SUMMARY = "Export a tagger as ONNX and torch.export, with a program that tags without torch."
_DETAILS = """
Writes to FOLDER

    tagger.onnx       from the indices of words to the scores of the labels; any number of sentences and words
    tagger.pt2        the same for torch.export.load
    tagger.json       vocabulary, labels, CRF, calibration and word aligner
    __main__.py, nef_runner
                      the program, which needs Python, NumPy and onnxruntime

    %(prog)s runs/ner/model.tar.gz exported
    python exported < requests.jsonl > answers.jsonl
    %(prog)s runs/ner/model.tar.gz exported --int8 --check fixtures/ner/test.conll

Requests and answers are those of `predict`, without attention and traces. The tags are the same, and probabilities
differ by at most 0.00001.

A tagger can be exported if it has embeddings of words and affixes, an lstm or gru, softmax or a CRF, and no decoder or
neural_easy_first with csoftmax or softmax. Quality estimation tags the words of the target.

With --int8, there is also tagger.int8.onnx, with weights of 8 bits; `python exported --int8` takes it. With --check,
what was exported tags DATA. How its answers differ from those of the predictor is printed, and where DATA have tags the
scores of all.

The exit status is 2 where a part of the tagger cannot be exported; the message names it.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained tagger, or the folder of a run")
    add(
        "folder", metavar="FOLDER", help="folder to write to; files of an older export are replaced"
    )
    add("--int8", action="store_true", help="also write a model with weights of 8 bits")
    add(
        "--check",
        metavar="DATA",
        help="compare the answers with those of the predictor on data for the model's reader",
    )
    add("--json", action="store_true", help="print the figures as JSON")
    add_trust(parser)


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.exported import export

    return export(args)


EXPORT = Command("export", _SUMMARY, _DETAILS, _add_arguments, _run, True)
