"""The package eflomal (Östling and Tiedemann 2016), which is optional."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any, TextIO

from allennlp_nef.data.formats.text_files import read_lines
from allennlp_nef.data.formats.word_alignments import parse_alignments
from allennlp_nef.errors import DataFormatError, UserError, needing, quote, summary_of

MAX_WORDS = 1023
"""Of a sentence. eflomal leaves longer ones out."""
Directions = tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]
"""The links of each sentence, forward and reverse."""

_COLUMNS = {"LEX": 4, "FERF": 4, "FERR": 4, "HMMF": 3, "HMMR": 3}


def align(sentences: Sequence[tuple[list[str], list[str]]], priors: Sequence[str]) -> Directions:
    """Aligns sentences in both directions.

    # Parameters

    sentences : `Sequence[tuple[list[str], list[str]]]`
        The words of each sentence and of its translation.
    priors : `Sequence[str]`
        The lines of a file of priors, or none.

    # Raises

    `UserError`: eflomal is not installed, or fails.
    """
    eflomal = _imported()
    source, target = _lines(sentences)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("forward", "reverse")]
        try:
            eflomal.Aligner().align(
                source,
                target,
                links_filename_fwd=paths[0],
                links_filename_rev=paths[1],
                priors_input=list(priors) or None,
            )
        except Exception as error:  # of any type: a broken installation, a full disk
            raise UserError(
                f"eflomal: expected alignments, got {type(error).__name__}: {summary_of(error)}"
            ) from error
        forward, reverse = (_read_links(path, sentences) for path in paths)
    return forward, reverse


def read_priors(path: str) -> tuple[list[str], dict[str, dict[str, int]]]:
    """
    The lines of a file of priors, and the target words of each source word in it, in lower case.

    # Raises

    `DataFormatError`: no such file, or a line that is not one of priors.
    """
    lines = read_lines(path)
    known: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines, 1):
        kind, *rest = columns = line.rstrip("\r\n").split("\t")
        is_right = len(columns) == _COLUMNS.get(kind)
        try:
            float(columns[-1])
            if is_right and kind != "LEX":
                int(columns[-2])
        except ValueError:
            is_right = False
        if not is_right:
            raise DataFormatError(
                f"{path}:{number}: expected a line of priors, such as 'LEX', a source word, a target word and a "
                f"number, separated by tabs, got {quote(line)}"
            )
        if kind == "LEX":
            known.setdefault(rest[0].lower(), {})[rest[1].lower()] = 1
    if not known:
        raise DataFormatError(f"{path}: expected priors, got no pairs of words")
    return lines, known


def write_priors(
    file: TextIO, sentences: Sequence[tuple[list[str], list[str]]], directions: Directions
) -> None:
    """Writes the priors that sentences and their alignments give."""
    eflomal = _imported()
    links = ([" ".join(f"{i}-{j}" for i, j in each) for each in side] for side in directions)
    eflomal.write_priors(file, *eflomal.calculate_priors(*_lines(sentences), *links))


def _imported() -> Any:
    with needing("align", "align-words without --aligner"):
        import eflomal
    return eflomal


def _lines(sentences: Sequence[tuple[list[str], list[str]]]) -> tuple[list[str], list[str]]:
    source, target = ([" ".join(words) + "\n" for words in side] for side in zip(*sentences))
    return source, target


def _read_links(
    path: str, sentences: Sequence[tuple[list[str], list[str]]]
) -> list[list[tuple[int, int]]]:
    """The links that eflomal wrote. Its package does not notice a program that failed."""
    lines = read_lines(path) if os.path.isfile(path) else []
    if len(lines) != len(sentences):
        raise UserError(
            f"eflomal: expected a line for each of {len(sentences)} sentence pairs, got {len(lines)}: its program "
            "failed, and may have printed why"
        )
    return [
        parse_alignments(line, len(source), len(target), "eflomal")
        for line, (source, target) in zip(lines, sentences)
    ]
