"""`allennlp-nef align-words`: alignments by the package eflomal (Östling and Tiedemann 2016), which is optional."""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from allennlp_nef.cli.shared import call_with, check_outputs, checking, print_lines, writing
from allennlp_nef.data.formats.text_files import read_lines, read_parallel_lines
from allennlp_nef.data.formats.wmt_layouts import without_eos
from allennlp_nef.data.formats.word_alignments import parse_alignments
from allennlp_nef.errors import DataFormatError, UserError, needing, quote, summary_of

MAX_WORDS = 1023
"""Of a sentence. eflomal leaves longer ones out."""
METHODS = ("grow-diag-final-and", "grow-diag", "intersection", "union", "forward", "reverse")
Link = tuple[int, int]
Words = list[str]
Directions = tuple[list[list[Link]], list[list[Link]]]
"""The links of each sentence, forward and reverse."""
_COLUMNS = {"LEX": 4, "FERF": 4, "FERR": 4, "HMMF": 3, "HMMR": 3}
_MIN_CHECKED = 20
"""Words of a text that say something about its language."""
_ADJACENT = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
SUMMARY = "Align the words of sentences with those of their translations, for quality estimation."
DETAILS = """
Writes a line of pairs i-j for each sentence: source word i is aligned to target word j, from 0. SOURCE and TARGET are
text files of tokenized sentences, one a line. The alignments are those of the package eflomal, in both directions,
combined. It is the extra `align` (in a checkout: `pip install '.[align]'`), needs a C compiler, and draws random
numbers.

    %(prog)s train.src train.mt --output train.src-mt.alignments --save-priors en-de.priors
    %(prog)s dev.src dev.mt --output dev.src-mt.alignments --priors en-de.priors

--learn-aligner writes an aligner that needs no eflomal, which the option `aligner` of the reader wmt_word_qe takes.
The run of a quality estimator whose training data have alignments has such a file, too. --aligner aligns with it:

    %(prog)s test.src test.mt --output test.src-mt.alignments --aligner runs/qe_nef_f/aligner.json.gz

It may also be the options of a pretrained encoder, which needs no aligned sentences. With --learn-aligner its
alignments become such a file, which aligns much faster:

    %(prog)s test.src test.mt --output test.src-mt.alignments \\
        --aligner '{"model_name": "intfloat/multilingual-e5-small", "layer": 6}'

The exit status is 2 where the files cannot be aligned; then no file is written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="file with the source sentences")
    add("target", metavar="TARGET", help="file with their translations")
    add(
        "--output", metavar="FILE", required=True, help="file for the alignments; it is overwritten"
    )
    add(
        "--symmetrization",
        choices=METHODS,
        help=f"how the two directions are combined (default = {METHODS[0]})",
    )
    add("--priors", metavar="FILE", help="priors that --save-priors wrote, to align alike")
    add(
        "--save-priors", metavar="FILE", help="file for priors that are counted from the alignments"
    )
    add("--learn-aligner", metavar="FILE", help="file for an aligner that is learned from them")
    add(
        "--aligner",
        metavar="FILE",
        help="align with such a file, or with an encoder whose options are a JSON object, without eflomal",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    args.say = lambda line: print_lines([line])
    figures = call_with(align_words, args)
    yield f"{figures['links']:,} links in {figures['seconds']:.0f} s: {args.output}"
    for title, path in (("Priors", args.save_priors), ("Aligner", args.learn_aligner)):
        if path:
            yield f"{title}: {path}"


@checking(add_arguments)
def align_words(
    source: str,
    target: str,
    *,
    output: str,
    symmetrization: str | None = None,
    priors: str | None = None,
    save_priors: str | None = None,
    learn_aligner: str | None = None,
    aligner: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, float]:
    """Aligns the words of two files, and writes the alignments.

    The parameters are the options of `allennlp-nef align-words`. `say` gets a line before the work begins.

    # Returns

    `dict[str, float]`: the number of `sentences` and `links`, and the `seconds`.

    # Raises

    `UserError`: wrong options, or files that cannot be aligned.
    """
    from allennlp_nef.data import aligners
    from allennlp_nef.data.aligners.lexical_aligner import MIN_PAIRS

    for_eflomal = {
        "priors": priors,
        "save-priors": save_priors,
        "learn-aligner": learn_aligner,
        "symmetrization": symmetrization,
    }
    encoder = _encoder_options(aligner)
    if encoder is not None:
        del for_eflomal["learn-aligner"]
    for name, value in for_eflomal.items():
        if aligner and value:
            raise UserError(f"--{name}: expected no --aligner with it: it is for eflomal")
    outputs = {"output": output, "save-priors": save_priors, "learn-aligner": learn_aligner}
    aligner_file = aligner if encoder is None else None
    check_outputs(outputs, map(Path, filter(None, (source, target, priors, aligner_file))))
    sentences = _read(source, target, None if aligner else MAX_WORDS)
    count = f"{len(sentences):,} sentence pair{'s' if len(sentences) > 1 else ''}"
    if learn_aligner and len(sentences) < MIN_PAIRS:
        raise DataFormatError(
            f"{source}: expected at least {MIN_PAIRS} sentences to learn an aligner from, got {len(sentences)}"
        )
    start = time.monotonic()
    if encoder is not None:
        links = _with_encoder(encoder, sentences, count, say)
    elif aligner:
        loaded = aligners.load_aligner(aligner)
        _check_languages(aligner, loaded.lexicon.links, sentences, source, target)
        say(f"Aligning {count} with {aligner}")
        links = [loaded.align(*pair) for pair in sentences]
    else:
        lines: list[str] = []
        if priors:
            lines, known = read_priors(priors)
            _check_languages(priors, known, sentences, source, target)
        with needing("align", "align-words without --aligner"):
            import eflomal
        say(f"Aligning {count} with eflomal, in both directions")
        directions = align(eflomal, sentences, lines)
        method = symmetrization or METHODS[0]
        links = [symmetrize(*pair, method) for pair in zip(*directions)]
    with _writing_text(output) as file:
        file.writelines(" ".join(f"{i}-{j}" for i, j in pairs) + "\n" for pairs in links)
    seconds = time.monotonic() - start
    if save_priors:
        with _writing_text(save_priors) as file:
            texts = ([" ".join(f"{i}-{j}" for i, j in row) for row in side] for side in directions)
            eflomal.write_priors(file, *eflomal.calculate_priors(*_lines(sentences), *texts))
    if learn_aligner:
        pairs = (aligners.AlignedPair(*pair, own) for pair, own in zip(sentences, links))
        aligners.save_aligner(aligners.learn_aligner(pairs), learn_aligner)
    return {"sentences": len(sentences), "links": sum(map(len, links)), "seconds": seconds}


def _encoder_options(aligner: str | None) -> dict[str, Any] | None:
    """The options of an encoder; None where the aligner is a file."""
    if aligner is None or not aligner.lstrip().startswith("{"):
        return None
    try:
        options: dict[str, Any] = json.loads(aligner)
    except ValueError as error:
        raise UserError(
            f"--aligner: expected a file or a JSON object, got {quote(aligner)} ({error})"
        ) from error
    return options


def _with_encoder(
    options: dict[str, Any],
    sentences: Sequence[tuple[Words, Words]],
    count: str,
    say: Callable[[str], None],
) -> list[list[Link]]:
    from allennlp.common import Tqdm
    from allennlp.common.checks import ConfigurationError

    from allennlp_nef.data.aligners.encoder_aligner import ALIGNED_TOGETHER, encoder_aligner

    try:
        aligner = encoder_aligner(options)
    except ConfigurationError as error:
        raise UserError(f"--{error}") from error
    say(f"Aligning {count} with {options['model_name']}")
    begins = Tqdm.tqdm(range(0, len(sentences), ALIGNED_TOGETHER), desc="batches")
    batches = (sentences[begin : begin + ALIGNED_TOGETHER] for begin in begins)
    return [links for batch in batches for links in aligner.align_all(batch)]


@contextmanager
def _writing_text(path: str) -> Iterator[TextIO]:
    with writing(Path(path)) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _read(source: str, target: str, max_words: int | None) -> list[tuple[Words, Words]]:
    paths = {"source": source, "target": target}
    sentences = []
    for number, lines in read_parallel_lines(paths):
        words = {part: without_eos(line.split()) for part, line in lines.items()}
        for part, own in words.items():
            if not own or (max_words is not None and len(own) > max_words):
                limit = "" if max_words is None else f" (eflomal has at most {max_words})"
                raise DataFormatError(
                    f"{paths[part]}:{number}: expected a sentence of words{limit}, got {len(own)}"
                )
        sentences.append((words["source"], words["target"]))
    return sentences


def _check_languages(
    path: str,
    known: dict[str, dict[str, int]],
    sentences: Iterable[tuple[Words, Words]],
    source: str,
    target: str,
) -> None:
    """Raises an error where almost no target word has a translation in its sentence that was counted before."""
    from allennlp_nef.data.aligners.lexical_aligner import MIN_TRANSLATED, translated_words

    counts = [translated_words(known, *pair) for pair in sentences]
    translated, words = (sum(count[i] for count in counts) for i in (0, 1))
    if words >= _MIN_CHECKED and translated < MIN_TRANSLATED * words:
        raise UserError(
            f"{path}: expected the languages of {source} and {target}, in this order, got others: of {words} "
            f"words of {target} {translated} have a known translation"
        )


def align(eflomal: Any, sentences: Sequence[tuple[Words, Words]], priors: list[str]) -> Directions:
    """Aligns sentences in both directions, with the lines of a file of priors, or none.

    Raises a `UserError` where eflomal fails.
    """
    source, target = _lines(sentences)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("forward", "reverse")]
        try:
            eflomal.Aligner().align(
                source,
                target,
                links_filename_fwd=paths[0],
                links_filename_rev=paths[1],
                priors_input=priors or None,
            )
        except Exception as error:  # of any type: a broken installation, a full disk
            raise UserError(
                f"eflomal: expected alignments, got {type(error).__name__}: {summary_of(error)}"
            ) from error
        forward, reverse = (_read_links(path, sentences) for path in paths)
    return forward, reverse


def read_priors(path: str) -> tuple[list[str], dict[str, dict[str, int]]]:
    """The lines of a file of priors, and the target words of each source word in it, in lower case."""
    lines = read_lines(path)
    known: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines, 1):
        kind, *values = columns = line.rstrip("\r\n").split("\t")
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
            known.setdefault(values[0].lower(), {})[values[1].lower()] = 1
    if not known:
        raise DataFormatError(f"{path}: expected priors, got no pairs of words")
    return lines, known


def _lines(sentences: Sequence[tuple[Words, Words]]) -> tuple[list[str], list[str]]:
    source, target = ([" ".join(words) + "\n" for words in side] for side in zip(*sentences))
    return source, target


def _read_links(path: str, sentences: Sequence[tuple[Words, Words]]) -> list[list[Link]]:
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


def symmetrize(
    forward: Iterable[Link], reverse: Iterable[Link], method: str = METHODS[0]
) -> list[Link]:
    """One alignment from the two directions, sorted.

    "grow-diag" (Koehn et al., IWSLT 2005) begins with the links that both have, and adds links of either that are
    adjacent to one, also diagonally, as long as a word of theirs has no link. "grow-diag-final-and" then adds those
    links of the forward and then of the reverse alignment of which neither word has a link.

    # Parameters

    forward, reverse : `Iterable[tuple[int, int]]`
        Pairs (source index, target index), from 0.
    method : `str`, optional (default = `"grow-diag-final-and"`)
        One of `METHODS`.
    """
    forward, reverse = sorted(set(forward)), sorted(set(reverse))
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if method in ("forward", "reverse"):
        return forward if method == "forward" else reverse
    union = set(forward) | set(reverse)
    if method == "union":
        return sorted(union)
    links = set(forward) & set(reverse)
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: Link) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    waiting = sorted(links) if method.startswith("grow-diag") else []
    while waiting:
        added = []
        for i, j in waiting:
            for down, right in _ADJACENT:
                link = i + down, j + right
                if link in union and (link[0] not in sources or link[1] not in targets):
                    add(link)
                    added.append(link)
        waiting = sorted(added)
    for link in (*forward, *reverse) if method.endswith("final-and") else ():
        if link[0] not in sources and link[1] not in targets:
            add(link)
    return sorted(links)
