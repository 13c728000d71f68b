"""`allennlp-nef align-words`: word alignments by the aligner of a quality estimator."""

import argparse
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.cli.arguments import options_of
from allennlp_nef.cli.outputs import check_outputs, is_stdout, write_text
from allennlp_nef.data.files import split_fields
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.aligner import ALIGNER_NAME, WordAligner, load_aligner
from allennlp_nef.qe.files import read_parallel
from allennlp_nef.qe.layouts import without_eos
from allennlp_nef.resources import archive_path

DETAILS = """
SOURCE and TARGET are text files of tokenized sentences, one per line. The output has a line of pairs i-j for each
sentence: source word i is aligned to target word j, from 0. An estimator that is trained on aligned data learns an
aligner, which is in its archive:

    %(prog)s test.src test.mt --output test.src-mt.alignments --aligner runs/qe/model.tar.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="file of source sentences")
    add("target", metavar="TARGET", help="file of their translations")
    add("--output", metavar="FILE", required=True, help="file for the alignments")
    add(
        "--aligner",
        metavar="ALIGNER",
        required=True,
        help="an archive or run folder with an aligner, or the file of one (aligner.json.gz)",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    number = align_words(**options_of(args, align_words))
    if not is_stdout(args.output):
        yield f"{number:,} links: {args.output}"


def align_words(source: str, target: str, *, output: str, aligner: str) -> int:
    """Aligns the words of two files and writes the alignments. Returns the number of links.

    The parameters are the options of `allennlp-nef align-words`.

    # Raises

    `DataFormatError`: the files cannot be aligned. `UserError`: no such aligner, or the output is an input.
    """
    path = archive_path(aligner)
    path = os.path.join(path, ALIGNER_NAME) if os.path.isdir(path) else path
    check_outputs([output], [source, target, path])
    align = _load(path).align
    number, lines = 0, []
    for texts, where in read_parallel({"source": source, "target": target}):
        words = {part: without_eos(split_fields(text)) for part, text in texts.items()}
        for part, own in words.items():
            if not own:
                raise DataFormatError(f"{where[part]}: expected words, got none")
        links = align(words["source"], words["target"])
        number += len(links)
        lines.append(" ".join(f"{i}-{j}" for i, j in links) + "\n")
    if not lines:
        raise DataFormatError(f"{source}:1: expected at least one sentence, got none")
    write_text(Path(output), "".join(lines))
    return number


def _load(path: str) -> WordAligner:
    """Loads the aligner from a file or an archive."""
    with open(path, "rb") as file:
        try:
            with tarfile.open(fileobj=file) as archive:
                member = archive.extractfile(ALIGNER_NAME)
                return load_aligner(f"{path}/{ALIGNER_NAME}", member)
        except KeyError:
            raise UserError(f"{path}: the archive contains no {ALIGNER_NAME}") from None
        except tarfile.ReadError:
            return load_aligner(path)
