"""Sentences for word-level quality estimation from files of error spans, and error spans from their tags."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from allennlp_nef.data.formats.data_paths import DataPath, find_data_files, has_part, name_of
from allennlp_nef.data.formats.error_spans import project_onto_places, read_spanned
from allennlp_nef.data.formats.text_files import read_parallel_lines
from allennlp_nef.data.formats.wmt_layouts import EOS, check_eos, without_eos
from allennlp_nef.data.formats.wmt_word_qe import WordQeExample, parse_alignments, read_examples
from allennlp_nef.data.formats.words import OddCharacters, Split, SplitText, split_on_whitespace
from allennlp_nef.errors import DataFormatError, OnError, raise_error

logger = logging.getLogger(__name__)


class PredictedSpan(NamedTuple):
    """An error that a model found in a translation."""

    start: int
    """In characters of the text, from 0."""
    end: int
    """The character after it; the start, for an omission."""
    text: str
    severity: str
    probability: float
    """The mean of the probabilities of BAD of its words."""


def span_files(path: DataPath) -> dict[str, str] | None:
    """
    The files `spans` and, where they are named, `source` and `alignments` of a data path; None where it is not one of
    error spans. Of a single `.tsv` file, it is `spans`. Raises the `DataFormatError` of `find_data_files`.
    """
    if has_part(path, "spans"):
        files = find_data_files(path, {"spans": ""}, {"source": (), "alignments": ()})
        return {part: str(file) for part, file in files.items()}
    name = name_of(path)
    return {"spans": name} if name.endswith(".tsv") else None


def read_files_or_spans(
    path: DataPath,
    tagged: str = "target",
    eos: bool = False,
    split_source: Split | None = None,
    split_target: Split | None = None,
    severities: bool = False,
    clip_spans: bool = False,
    on_error: OnError = raise_error,
    **options: Any,
) -> Iterator[WordQeExample]:
    """
    The sentences of a data path: by `read_span_examples` where it is one of error spans, else by `read_examples`.

    # Parameters

    path, tagged, eos, split_source, split_target, severities, clip_spans, on_error
        See these two.
    options
        Those that only `read_examples` has.

    # Raises

    `DataFormatError`: that of the two; error spans where `tagged` is not "target".
    """
    files = span_files(path)
    if files is None:
        options.update(split_source=split_source, split_target=split_target, severities=severities)
        return read_examples(path, tagged=tagged, eos=eos, on_error=on_error, **options)
    if tagged != "target":
        raise DataFormatError(
            f"{files['spans']}: expected no error spans, which are those of the target, as tagged is {tagged}"
        )
    return read_span_examples(
        **files,
        split_source=split_source or split_on_whitespace,
        split_target=split_target or split_on_whitespace,
        severities=severities,
        eos=eos,
        clip_spans=clip_spans,
        on_error=on_error,
    )


def read_span_examples(
    spans: str,
    source: str | None = None,
    alignments: str | None = None,
    split_source: Split = split_on_whitespace,
    split_target: Split = split_on_whitespace,
    severities: bool = False,
    eos: bool = False,
    clip_spans: bool = False,
    on_error: OnError = raise_error,
) -> Iterator[WordQeExample]:
    """
    The sentences of a file of error spans, with a tag a word.

    # Parameters

    spans : `str`
        A file in one of the layouts of `error_spans.LAYOUTS`.
    source : `str`, optional (default = `None`)
        A file with a source sentence a line. Needed unless `spans` has the layout of the development data, which has
        the source; then the file takes its place.
    alignments : `str`, optional (default = `None`)
        A file of alignments, of the words that the sentences are split into.
    split_source, split_target : `Split`, optional (default = `split_on_whitespace`)
        Give the words of a text.
    severities : `bool`, optional (default = `False`)
        Whether tags are OK, minor and major, in place of OK and BAD.
    eos : `bool`, optional (default = `False`)
        Whether `<EOS>` follows the words of each translation. Otherwise an omission at the end has no tag.
    clip_spans : `bool`, optional (default = `False`)
        See `read_error_spans`.
    on_error : `OnError`, optional (default = `raise_error`)
        What to do with a sentence that cannot be read.

    # Raises

    `DataFormatError`: that of `read_error_spans`, no source, another number of lines than sentences, a text without
    words, a word that `check_words` refuses, a malformed alignment, `<EOS>` elsewhere than at the end of a translation.
    """
    _, sentences = read_spanned(spans, clip_spans, on_error=on_error)
    sources = [sentence.source if sentence else "" for sentence in sentences]
    if source is not None:
        sources = list(_lines(source, spans, len(sentences)))
    if None in sources:
        first = next(each.line for each in sentences if each)
        raise DataFormatError(
            f"{spans}:{first}: expected a file with source sentences besides (source), got none; only the "
            "layout of the development data has them"
        )
    links: Iterable[str | None] = repeat(None)
    if alignments is not None:
        links = _lines(alignments, spans, len(sentences))
    odd = OddCharacters()
    for number, (sentence, source_text, line) in enumerate(zip(sentences, sources, links), 1):
        if sentence is None:
            continue
        at = f"{spans}:{sentence.line}"
        at_source = f"{source}:{number}" if source else at
        try:
            source_words, target = split_source(source_text or ""), split_target(sentence.text)
            for name, words, place in (
                ("source", source_words.words, at_source),
                ("target", target.words, at),
            ):
                if not words:
                    raise DataFormatError(f"{place}: expected {name} words, got none")
                odd.check(words, place)
            check_eos(source_words.words, target.words, True, (f"{at}: source", f"{at}: target"))
            tags = project_onto_places(sentence.text, sentence.spans, target.offsets, severities)
            words = [*without_eos(target.words), EOS] if eos else target.words
            pairs = None
            if line is not None:
                count = len(source_words.words), len(without_eos(words))
                pairs = parse_alignments(line, *count, f"{alignments}:{number}")
        except DataFormatError as error:
            on_error(error)
            continue
        yield WordQeExample(
            source_words.words,
            words,
            pairs,
            tags[: len(words)],
            None,
            None,
            sentence.line,
            sentence.text,
            target.offsets,
            sentence.spans,
        )
    odd.warn(logger.warning)


def join_bad_words(
    split: SplitText, severities: Sequence[str | None], probabilities: Sequence[float]
) -> list[PredictedSpan]:
    """
    The error spans of tagged words: adjacent BAD words of the same severity are one span, with what is between them.

    A word without characters, such as `<EOS>`, is an empty span, and joined with no other.

    # Parameters

    split : `SplitText`
    severities : `Sequence[str | None]`
        That of each word; None for one that is OK.
    probabilities : `Sequence[float]`
        Of BAD, of each word.
    """
    groups: list[list[int]] = []
    for i, (severity, (start, end)) in enumerate(zip(severities, split.offsets)):
        if severity is None:
            continue
        last = groups[-1][-1] if groups and start < end else None
        if last is not None and last == i - 1 and severities[last] == severity:
            groups[-1].append(i)
        else:
            groups.append([i])
    spans = []
    for group in groups:
        start, end = split.offsets[group[0]][0], split.offsets[group[-1]][1]
        probability = sum(probabilities[i] for i in group) / len(group)
        severity = severities[group[0]] or ""
        spans.append(PredictedSpan(start, end, split.text[start:end], severity, probability))
    return spans


def _lines(path: str, spans: str, count: int) -> Iterator[str]:
    """The lines of a file, one for each of so many sentences."""
    lines = [each["line"] for _, each in read_parallel_lines({"line": path})]
    if len(lines) != count:
        raise DataFormatError(
            f"{path}: expected {count} lines, one for each sentence of {spans}, got {len(lines)}"
        )
    return iter(lines)
