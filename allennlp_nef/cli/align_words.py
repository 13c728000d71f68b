"""`allennlp-nef align-words`: word alignments by eflomal (Östling and Tiedemann 2016) or by a learned aligner."""

import argparse
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.cli.shared import is_stdout, options_of, write_text, writing
from allennlp_nef.data.files import split_fields
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.aligner import ALIGNER_NAME, WordAligner, load_aligner, save_aligner
from allennlp_nef.qe.aligner import learn_aligner as learn
from allennlp_nef.qe.eflomal import MAX_WORDS, Sentence, align_with_eflomal
from allennlp_nef.qe.files import read_parallel
from allennlp_nef.qe.layouts import without_eos
from allennlp_nef.resources import archive_path

SUMMARY = "Align the words of sentences with those of their translations, for quality estimation."
DETAILS = """
SOURCE and TARGET are text files of tokenized sentences, one per line. The output has a line of pairs i-j for each
sentence: source word i is aligned to target word j, from 0. By default, the eflomal package aligns the words in both
directions, and the directions are combined (grow-diag-final-and). eflomal comes with the `align` extra; its results are
not deterministic.

    %(prog)s train.src train.mt --output train.src-mt.alignments

--learn-aligner writes an aligner for the `aligner` option of the wmt_word_qe reader. The archive of a quality estimator
that was trained on aligned data also contains one. --aligner uses an aligner instead of eflomal:

    %(prog)s test.src test.mt --output test.src-mt.alignments --aligner runs/qe/model.tar.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="file of source sentences")
    add("target", metavar="TARGET", help="file of their translations")
    add("--output", metavar="FILE", required=True, help="file for the alignments")
    add("--learn-aligner", metavar="FILE", help="file for an aligner learned from the alignments")
    add(
        "--aligner",
        metavar="ALIGNER",
        help="a file written by --learn-aligner, or an archive that contains an aligner",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    number = align_words(**options_of(args, align_words))
    if not is_stdout(args.output):
        yield f"{number:,} links: {args.output}"


def align_words(
    source: str,
    target: str,
    *,
    output: str,
    aligner: str | None = None,
    learn_aligner: str | None = None,
) -> int:
    """Aligns the words of two files and writes the alignments. Returns the number of links.

    # Parameters

    source, target : `str`
        Files of tokenized sentences, one per line.
    output : `str`
        The file for the alignments.
    aligner : `str`, optional (default = `None`, eflomal)
        An aligner file, an archive, a run folder, or the name of a trained model.
    learn_aligner : `str`, optional (default = `None`)
        The file for an aligner learned from the alignments.

    # Raises

    `UserError`: the files cannot be aligned, or eflomal is not installed or fails.
    """
    sentences = list(_read(source, target))
    if not sentences:
        raise DataFormatError(f"{source}:1: expected at least one sentence, got none")
    if aligner is None:
        links = align_with_eflomal(sentences)
    else:
        loaded = _load(aligner)
        links = [loaded.align(*sentence) for sentence in sentences]
    if learn_aligner is not None:
        learned = learn((*sentence, pairs) for sentence, pairs in zip(sentences, links))
        with writing(Path(learn_aligner)) as path:
            save_aligner(learned, str(path))
    lines = (" ".join(f"{i}-{j}" for i, j in pairs) for pairs in links)
    write_text(Path(output), "".join(f"{line}\n" for line in lines))
    return sum(map(len, links))


def _read(source: str, target: str) -> Iterator[Sentence]:
    """Yields the words of each sentence and of its translation, without `<EOS>`."""
    for lines, where in read_parallel({"source": source, "target": target}):
        words = {part: without_eos(split_fields(line)) for part, line in lines.items()}
        for part, own in words.items():
            if not 0 < len(own) <= MAX_WORDS:
                raise DataFormatError(
                    f"{where[part]}: expected 1 to {MAX_WORDS} words, got {len(own)}"
                )
        yield words["source"], words["target"]


def _load(path: str) -> WordAligner:
    """Loads the aligner from a file, an archive, a run folder, or a trained model."""
    path = archive_path(path)
    path = os.path.join(path, ALIGNER_NAME) if os.path.isdir(path) else path
    with open(path, "rb") as file:
        try:
            with tarfile.open(fileobj=file) as archive:
                member = archive.extractfile(ALIGNER_NAME)
                return load_aligner(f"{path}/{ALIGNER_NAME}", member)
        except KeyError:
            raise UserError(f"{path}: the archive contains no {ALIGNER_NAME}") from None
        except tarfile.ReadError:
            return load_aligner(path)
