"""The work of `align-words`, with the package eflomal (Östling and Tiedemann 2016), which is optional."""

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from allennlp_nef.commands.output_files import writing
from allennlp_nef.commands.symmetrization import symmetrize
from allennlp_nef.data.aligners import (
    AlignedPair,
    learn_aligner,
    load_aligner,
    save_aligner,
)
from allennlp_nef.data.aligners.lexical_aligner import MIN_PAIRS, MIN_TRANSLATED, translated_words
from allennlp_nef.data.formats.text_files import read_lines, read_parallel_lines
from allennlp_nef.data.formats.wmt_layouts import without_eos
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


Words = list[str]
_MIN_CHECKED = 20
"""Words of a text that say something about its language."""


def align_files(args: argparse.Namespace) -> Iterator[str]:
    """Aligns the files, and yields the lines to print. Raises `UserError` and `OSError`."""
    _check_options(args)
    sentences = _read(args.source, args.target, None if args.aligner else MAX_WORDS)
    count = f"{len(sentences):,} sentence pair{'s' if len(sentences) > 1 else ''}"
    if args.learn_aligner and len(sentences) < MIN_PAIRS:
        raise DataFormatError(
            f"{args.source}: expected at least {MIN_PAIRS} sentences to learn an aligner from, got {len(sentences)}"
        )
    start = time.monotonic()
    if args.aligner:
        aligner = load_aligner(args.aligner)
        _check_languages(args.aligner, aligner.lexicon.links, sentences, args)
        yield f"Aligning {count} with {args.aligner}"
        links = [aligner.align(*pair) for pair in sentences]
    else:
        priors: list[str] = []
        if args.priors:
            priors, known = read_priors(args.priors)
            _check_languages(args.priors, known, sentences, args)
        yield f"Aligning {count} with eflomal, in both directions"
        directions = align(sentences, priors)
        method = {"method": args.symmetrization} if args.symmetrization else {}
        links = [symmetrize(*pair, **method) for pair in zip(*directions)]
    _write(args.output, (" ".join(f"{i}-{j}" for i, j in each) for each in links))
    seconds = time.monotonic() - start
    yield f"{sum(map(len, links)):,} links in {seconds:.0f} s: {args.output}"
    if args.save_priors:
        _write_priors(args.save_priors, sentences, directions)
        yield f"Priors: {args.save_priors}"
    if args.learn_aligner:
        pairs = (AlignedPair(*pair, each) for pair, each in zip(sentences, links))
        save_aligner(learn_aligner(pairs), args.learn_aligner)
        yield f"Aligner: {args.learn_aligner}"


def _check_options(args: argparse.Namespace) -> None:
    """Finds mistakes in the options, and in the names of files, before any work."""
    if args.aligner:
        for name in ("priors", "save_priors", "learn_aligner", "symmetrization"):
            if getattr(args, name):
                option = "--" + name.replace("_", "-")
                raise UserError(f"{option}: expected no --aligner with it: it is for eflomal")
    taken = {
        os.path.realpath(path): path
        for path in (args.source, args.target, args.priors, args.aligner)
        if path
    }
    for name in ("output", "save_priors", "learn_aligner"):
        path, option = getattr(args, name), "--" + name.replace("_", "-")
        if path is None:
            continue
        if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or "."):
            raise UserError(f"{option}: expected a file in a folder that exists, got {path!r}")
        if os.path.realpath(path) in taken:
            raise UserError(f"{option}: expected a file of its own, got {path!r} again")
        taken[os.path.realpath(path)] = path


def _read(source: str, target: str, max_words: int | None) -> list[tuple[Words, Words]]:
    paths = {"source": source, "target": target}
    sentences = []
    for number, lines in read_parallel_lines(paths):
        words = {part: without_eos(line.split()) for part, line in lines.items()}
        for part, each in words.items():
            if not each or (max_words is not None and len(each) > max_words):
                limit = "" if max_words is None else f" (eflomal has at most {max_words})"
                raise DataFormatError(
                    f"{paths[part]}:{number}: expected a sentence of words{limit}, got {len(each)}"
                )
        sentences.append((words["source"], words["target"]))
    return sentences


def _check_languages(
    path: str,
    known: dict[str, dict[str, int]],
    sentences: Iterable[tuple[Words, Words]],
    args: argparse.Namespace,
) -> None:
    """Raises an error where almost no target word has a translation in its sentence that was counted before."""
    words = found = 0
    for pair in sentences:
        found_here, words_here = translated_words(known, *pair)
        words += words_here
        found += found_here
    if words >= _MIN_CHECKED and found < MIN_TRANSLATED * words:
        raise UserError(
            f"{path}: expected the languages of {args.source} and {args.target}, in this order, got others: of {words} "
            f"words of {args.target} {found} have a known translation"
        )


def _write(path: str, lines: Iterable[str]) -> None:
    with writing(Path(path)) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _write_priors(
    path: str, sentences: Sequence[tuple[Words, Words]], directions: Directions
) -> None:
    with writing(Path(path)) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        write_priors(file, sentences, directions)
