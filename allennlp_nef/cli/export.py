"""`allennlp-nef export`: a tagger as an ONNX graph, with a program that tags without torch."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.cli.arguments import add_archive, options_of
from allennlp_nef.cli.outputs import check_outputs
from allennlp_nef.resources import archive_path

DETAILS = """
Writes these files to FOLDER:

    tagger.onnx       the graph, from word or piece indices to label scores
    tagger.int8.onnx  with --int8, the same graph with 8-bit weights
    tagger.json       the vocabulary, the labels, the tokenizer rules, and how scores become tags
    tokenizer.json    the word pieces, if the tagger has a pretrained encoder
    aligner.json.gz   the word aligner, if the archive has one
    runner.py         the program, which needs NumPy, onnxruntime and, for word pieces, tokenizers
    allennlp_nef      the modules that the program imports

    %(prog)s runs/ner/model.tar.gz exported
    python exported/runner.py < requests.jsonl > answers.jsonl

The program accepts the requests of `predict` and returns the same answers, apart from rounding. It does not support
the options `attention`, `trace`, `label_probabilities` and `min_probability`, and a pretrained encoder reads each text
in a single window. With the `sacremoses` tokenizer, requests must contain lists of words. The answer to an invalid
request is {"error": ...}.

Supported: embeddings of words and affixes, or a pretrained encoder; aligned_pair and transformer_pair; the encoders
lstm, gru and pass_through; neural_easy_first with csoftmax or softmax; and the tag heads softmax and crf.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_archive(parser)
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="folder to write to; files in it are overwritten")
    add("--int8", action="store_true", help="also write a graph with 8-bit weights")


def run(args: argparse.Namespace) -> Iterator[str]:
    names = export(**options_of(args, export))
    yield f"{args.folder}: {', '.join(names)}"


def export(archive: str, folder: str, *, int8: bool = False, trust: bool = False) -> list[str]:
    """Writes a folder with a program that tags without torch. Returns the file names.

    The parameters are the options of `allennlp-nef export`.

    # Raises

    `UserError`: the archive cannot be used, a part of the tagger cannot be exported, or a package is missing.
    """
    from allennlp_nef.archives import load_predictor
    from allennlp_nef.exporting.export_folder import write_folder

    check_outputs([folder], [archive_path(archive)])
    print(f"loading {archive}", file=sys.stderr)
    predictor = load_predictor(archive, trust=trust)
    print("writing the graph, which takes up to a minute", file=sys.stderr)
    return write_folder(predictor, Path(folder), int8)
