"""
Word-level quality estimation data of the WMT shared tasks: sentences, their translations, and tags.

`read_examples(prefix)` reads `<prefix>.src` (source) and `<prefix>.mt` (machine translation) and,
where they exist, `<prefix>.tags`, `<prefix>.src-mt.alignments` or else `<prefix>.align`,
`<prefix>.source_tags` or else `<prefix>.src_tags`, and `<prefix>.hter`. In place of the prefix, the path of
each file may be given: see `find_data_files`. Line k of each file is about sentence k.

- The encoding is UTF-8. The module `text_files` says what a line is.
- Words and tags are split on any whitespace (`str.split`, so no-break spaces separate words too, and each of these
  words has a tag). The module `characters` says which characters a word may have.
- Tags are `OK` or `BAD`, in one of the layouts of `wmt_layouts`. The number of tags of a line tells its
  layout; all lines of a file have the same one. Source tags are one a source word.
- Alignments are Pharaoh pairs `i-j`, source index and target index from 0. A line may be empty.
- `.hter` has the human-targeted translation edit rate of the translation, a number of at least 0.
- `post_edits`, which has no ending and is read by its path alone, has the words of the corrected translation.

A path that ends in `.tsv`, `.jsonl` or `.csv` is a file of error spans (`error_spans`, `wmt_segments`), and so is the
part `spans` of a data path. Of the layouts of WMT23, the other parts are then `source`, a source sentence a line, which
the development data have in the file of spans, and perhaps `alignments`, of the words that the sentences are split
into.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from allennlp_nef.data.formats.characters import (
    OddCharacters,
    Split,
    name_of_character,
    other_separator,
    split_on_whitespace,
)
from allennlp_nef.data.formats.data_paths import (
    DataPath,
    find_data_files,
    has_part,
    is_explicit,
    name_of,
)
from allennlp_nef.data.formats.error_spans import ErrorSpan, project_onto_places, read_spanned
from allennlp_nef.data.formats.text_files import TextPath, number_of, read_parallel_lines
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    check_eos,
    check_tags,
    interleave,
    split_tags,
    without_eos,
)
from allennlp_nef.data.formats.wmt_segments import Segment, is_segment_file, read_segments
from allennlp_nef.data.formats.word_alignments import parse_alignments
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

logger = logging.getLogger(__name__)

# The file endings of each part, the preferred one first.
_REQUIRED = {"source": ".src", "target": ".mt"}
_OPTIONAL = {
    "tags": (".tags",),
    "alignments": (".src-mt.alignments", ".align"),
    "source_tags": (".source_tags", ".src_tags"),
    "hter": (".hter",),
    "post_edits": (),  # none of a prefix: only as an explicit part
}


SPAN_ENDINGS = (".tsv", ".jsonl", ".csv")
"""Of the paths that are files of error spans."""


class WordQeExample(NamedTuple):
    """One sentence and its translation."""

    source: list[str]
    """Words of the source sentence, at least one."""
    target: list[str]
    """Words of the machine translation, at least one, and perhaps `<EOS>` after them."""
    alignments: list[tuple[int, int]] | None
    """Pairs (source index, target index), from 0; empty where nothing is aligned; None without a file of alignments."""
    tags: list[str] | None
    """One of OK and BAD a token of the target; None without a file of tags."""
    gap_tags: list[str] | None
    """One a gap, n+1 for n target words; None where the line has word tags only."""
    source_tags: list[str] | None
    """One a source word; None without a file of source tags."""
    line: int
    """Line in each of the files, from 1."""
    text: str | None = None
    """The translation as it stood in its file."""
    offsets: list[tuple[int, int]] | None = None
    """The start and the end of each target word in the text; None for the words between whitespace."""
    spans: Sequence[tuple[int, int, str]] | None = None
    """The start, the end and the severity of each error in the text, where the file has error spans."""
    hter: float | None = None
    """Human-targeted translation edit rate, at least 0; None without a file of them."""
    post_edit: list[str] | None = None
    """Words of the translation as a person corrected it, at least one; None without a file of them."""
    segment: Segment | None = None
    """What a file in one of the layouts of `wmt_segments` says of the translation; None of other files."""
    document: str | None = None
    """The name of its document, where the file has error spans and names it."""

    def tags_of(self, tagged: str) -> list[str] | None:
        """The tags of what is `tagged`, one of `TAGGED`; None where they are not known."""
        if tagged == "source":
            return self.source_tags
        if tagged == "gaps":
            return self.gap_tags
        if tagged == "target_and_gaps" and self.gap_tags is not None and self.tags is not None:
            return interleave(self.gap_tags, self.tags)
        return self.tags


@dataclass(frozen=True)
class ReadOptions:
    """How `read_examples` reads."""

    tagged: str = "target"
    """One of `TAGGED`: what has to have tags where the data are labeled. Of error spans it is the target."""
    eos: bool = False
    """Whether all translations are to end in `<EOS>`, with a tag: see `split_tags`. Without it an omission at the end
    that an error span marks has no tag."""
    split_source: Split | None = None
    """Gives the words of a source where there are neither tags nor alignments, and of error spans. With these the words
    are known: they are those between whitespace, as by default."""
    split_target: Split | None = None
    """The same for translations."""
    severities: bool = False
    """Whether the tags of error spans are OK, minor and major. A file of tags has others, and is an error."""
    clip_spans: bool = False
    """See `read_error_spans`."""
    sentence_scores: bool = False
    """Whether to read `.hter`, where it exists, and the scores of segments."""
    without_alignments: str = "every target word counts as unaligned"
    """What the warning says of words where there is no file of alignments."""
    on_error: OnError = raise_error
    """What to do with a sentence that cannot be read."""


_DEFAULTS = ReadOptions()


def read_examples(path: DataPath, options: ReadOptions = _DEFAULTS) -> Iterator[WordQeExample]:
    """
    Reads the sentences of a data set, the files of a prefix in lock-step, one line of each at a time.

    Without a file of alignments the examples have none, without a file of tags they are unlabeled; a
    warning says so. A missing `.src` or `.mt` is an error at once, everything else when its line is
    reached.

    # Parameters

    path : `str`, `PathLike` or a dict of these
        See `find_data_files`, and the module for error spans.
    options : `ReadOptions`, optional

    # Raises

    `DataFormatError`: a missing or empty file, different line counts, a line without words,
    a wrong number of tags, lines of different layouts, an unknown tag, no tags of what is `tagged`, a malformed
    alignment or one outside of the words, a word that `check_words` refuses, `<EOS>` where it cannot be, an HTER that
    is no number of at least 0, invalid UTF-8, a carriage return within a line; what `read_error_spans` raises, error
    spans without source sentences.
    """
    tagged = options.tagged
    spans = span_files(path)
    if spans is not None:
        file = spans["spans"]
        if tagged != "target":
            raise DataFormatError(
                f"{file}: expected no error spans, which are those of the target, as tagged is {tagged}"
            )
        if not (file.endswith(SPAN_ENDINGS[1:]) or is_segment_file(file)):
            return _read_spans(options=options, **spans)
        for part in spans.keys() - {"spans"}:
            raise DataFormatError(
                f"{file}: expected no file of {part} beside a file of segments, got {spans[part]}"
            )
        return _read_segments(file, options)
    paths = find_example_files(path, options.sentence_scores)
    if "alignments" not in paths:
        outcome = options.without_alignments
        logger.warning("There is %s: %s.", _no_file(path, "alignments"), outcome)
    needed = "source_tags" if tagged == "source" else "tags"
    if needed not in paths:
        others = [paths[part] for part in ("tags", "source_tags") if part in paths]
        if tagged != "target" and others:
            raise DataFormatError(
                f"{others[0]}: expected a file of {needed} too, as tagged is {tagged}, got {_no_file(path, needed)}"
            )
        logger.warning("There is %s: the sentences are unlabeled.", _no_file(path, needed))
    if options.severities and "tags" in paths:
        raise DataFormatError(
            f"{paths['tags']}: expected a file of error spans, as severities is true, got one of tags"
        )
    if any(part in paths for part in ("tags", "alignments", "source_tags")):
        options = replace(options, split_source=None, split_target=None)
    parts = [part for part in (*_REQUIRED, *_OPTIONAL) if options.sentence_scores or part != "hter"]
    return _read_lines({part: paths[part] for part in parts if part in paths}, options)


def find_example_files(path: DataPath, sentence_scores: bool = False) -> dict[str, TextPath]:
    """The file of each part that `read_examples` looks for. Raises the `DataFormatError` of `find_data_files`."""
    optional = {part: _OPTIONAL[part] for part in _OPTIONAL if sentence_scores or part != "hter"}
    return find_data_files(path, _REQUIRED, _OPTIONAL if is_explicit(path) else optional)


def span_files(path: DataPath) -> dict[str, str] | None:
    """
    The files `spans` and, where they are named, `source` and `alignments` of a data path; None where it is not one of
    error spans. Of a single file with one of the `SPAN_ENDINGS`, it is `spans`. Raises the `DataFormatError` of
    `find_data_files`.
    """
    if has_part(path, "spans"):
        files = find_data_files(path, {"spans": ""}, {"source": (), "alignments": ()})
        return {part: str(file) for part, file in files.items()}
    name = name_of(path)
    return {"spans": name} if name.endswith(SPAN_ENDINGS) else None


def _no_file(path: DataPath, part: str) -> str:
    """What is missing, in words."""
    if is_explicit(path):
        return f"no path of {part} with {name_of(path)}"
    files = [name_of(path) + ending for ending in _OPTIONAL[part]]
    return f"neither {' nor '.join(files)}" if part == "alignments" else f"no {files[0]}"


# Files of lines


def _read_lines(paths: Mapping[str, TextPath], options: ReadOptions) -> Iterator[WordQeExample]:
    """The sentences of files of lines, the path of each part."""
    first_layout = ""
    odd = OddCharacters()
    for number, lines in read_parallel_lines(paths, {"alignments"}, options.on_error):
        at = {part: f"{path}:{number}" for part, path in paths.items()}
        try:
            example, layout = _parse_line(number, lines, at, options, odd)
            first_layout = first_layout or layout
            if layout != first_layout:
                raise DataFormatError(
                    f"{at['tags']}: expected {first_layout}, as in {paths['tags']}:1, got {layout}"
                )
        except DataFormatError as error:
            options.on_error(_with_separators(error, lines, at))
            continue
        yield example
    odd.warn(logger.warning)


def _with_separators(
    error: DataFormatError, lines: dict[str, str], at: dict[str, str]
) -> DataFormatError:
    """The error, with the whitespace that one may not see, but that separates words."""
    for part, line in lines.items():
        separator = other_separator(line)
        if separator:
            name = name_of_character(separator)
            return DataFormatError(f"{error} (in {at[part]}, {name} separates words)")
    return error


def _parse_line(
    number: int,
    lines: dict[str, str],
    at: dict[str, str],
    options: ReadOptions,
    odd: OddCharacters,
) -> tuple[WordQeExample, str]:
    """The example of a line of each file, whose places begin messages, and the layout of its tags."""
    source, _ = _words(lines["source"], options.split_source)
    target, offsets = _words(lines["target"], options.split_target)
    post_edit = None
    if "post_edits" in lines:
        post_edit, _ = _words(lines["post_edits"], options.split_target)
    for part, words in (("source", source), ("target", target), ("post_edits", post_edit)):
        if words is not None:
            _check_words(words, part, at[part], odd)
            odd.check_line(lines[part], at[part])
    check_eos(source, target, "gaps" not in options.tagged, (at["source"], at["target"]))
    tags = gap_tags = source_tags = alignments = None
    layout = ""
    if "tags" in lines:
        tags, gap_tags, layout = split_tags(lines["tags"], target, at["tags"], options.eos)
        if "gaps" in options.tagged and gap_tags is None:
            raise DataFormatError(
                f"{at['tags']}: expected {2 * len(target) + 1} tags (with gaps), as tagged is {options.tagged}, got "
                f"{len(tags)}"
            )
    if "source_tags" in lines:
        source_tags = lines["source_tags"].split()
        if len(source_tags) != len(source):
            raise DataFormatError(
                f"{at['source_tags']}: expected {len(source)} tags (one a source word), "
                f"got {len(source_tags)}"
            )
        check_tags(source_tags, at["source_tags"])
    words = without_eos(target)
    if "alignments" in lines:
        alignments = parse_alignments(
            lines["alignments"], len(source), len(words), at["alignments"]
        )
    hter = None
    if "hter" in lines:
        hter = number_of(lines["hter"])
        if not 0 <= hter < math.inf:
            raise DataFormatError(
                f"{at['hter']}: expected HTER, a number of at least 0, got {quote(lines['hter'])}"
            )
    example = WordQeExample(
        source,
        [*words, EOS] if options.eos else target,
        alignments,
        tags,
        gap_tags,
        source_tags,
        number,
        lines["target"],
        offsets,
        hter=hter,
        post_edit=post_edit,
    )
    return example, layout


def _words(text: str, split: Split | None) -> tuple[list[str], list[tuple[int, int]] | None]:
    """The words of a text, and where they are known their places."""
    if split is None:
        return text.split(), None
    _, words, offsets = split(text)
    return words, offsets


def _check_words(words: Sequence[str], part: str, place: str, odd: OddCharacters) -> None:
    if not words:
        raise DataFormatError(f"{place}: expected {part} words, got none")
    odd.check(words, place)


# Files of error spans


def _read_spans(
    spans: str, options: ReadOptions, source: str | None = None, alignments: str | None = None
) -> Iterator[WordQeExample]:
    """The sentences of a file of error spans, with a tag a word."""
    split_source = options.split_source or split_on_whitespace
    split_target = options.split_target or split_on_whitespace
    _, sentences = read_spanned(spans, options.clip_spans, on_error=options.on_error)
    sources = [sentence.source if sentence else "" for sentence in sentences]
    if source is not None:
        sources = list(_lines(source, spans, len(sentences)))
    if None in sources:
        first = next(sentence.line for sentence in sentences if sentence)
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
            source_words, target = (
                split_source(source_text or "").words,
                split_target(sentence.text),
            )
            _check_words(source_words, "source", at_source, odd)
            _check_words(target.words, "target", at, odd)
            check_eos(source_words, target.words, True, (f"{at}: source", f"{at}: target"))
            tags = project_onto_places(
                sentence.text, sentence.spans, target.offsets, options.severities
            )
            words = [*without_eos(target.words), EOS] if options.eos else target.words
            pairs = None
            if line is not None:
                count = len(source_words), len(without_eos(words))
                pairs = parse_alignments(line, *count, f"{alignments}:{number}")
        except DataFormatError as error:
            options.on_error(error)
            continue
        yield WordQeExample(
            source_words,
            words,
            pairs,
            tags[: len(words)],
            None,
            None,
            sentence.line,
            sentence.text,
            target.offsets,
            sentence.spans,
            document=sentence.document,
        )
    odd.warn(logger.warning)


def _read_segments(path: str, options: ReadOptions) -> Iterator[WordQeExample]:
    """The segments of a file in one of the layouts of `wmt_segments`, with a tag a word where they are judged.

    An omission is the tag of `<EOS>`. A translation without words has the one token `<EOS>`.
    """
    split_source = options.split_source or split_on_whitespace
    split_target = options.split_target or split_on_whitespace
    odd = OddCharacters()
    for segment in read_segments(path, options.clip_spans, on_error=options.on_error):
        at = f"{path}:{segment.line}"
        text, hter, tags = segment.target, None, None
        try:
            if segment.source is None or text is None:
                part = "source" if segment.source is None else "translation"
                raise DataFormatError(f"{at}: expected the text of the {part}, got none")
            source = split_source(segment.source).words
            target = split_target(text)
            words = target.words or [EOS]
            _check_words(source, "source", at, odd)
            _check_words(words, "target", at, odd)
            check_eos(source, target.words, True, (f"{at}: source", f"{at}: target"))
            if segment.spans is not None:
                omission = [(len(text), len(text), segment.omission)] if segment.omission else []
                errors = [*segment.spans, *(ErrorSpan(*span) for span in omission)]
                tags = project_onto_places(text, errors, target.offsets, options.severities)
            if options.eos:
                words = [*without_eos(words), EOS]
            if options.sentence_scores:
                hter = _badness(segment, at)
        except DataFormatError as error:
            options.on_error(error)
            continue
        yield WordQeExample(
            source,
            words,
            None,
            None if tags is None else tags[: len(words)],
            None,
            None,
            segment.line,
            text,
            target.offsets,
            segment.spans,
            hter,
            segment=segment,
            document=segment.document,
        )
    odd.warn(logger.warning)


def _badness(segment: Segment, location: str) -> float | None:
    """1 minus the score of a segment over 100: 0 is best, as of HTER; None without a score."""
    if segment.score is None:
        return None
    if segment.protocol != "ESA" or not 0 <= segment.score <= 100:
        raise DataFormatError(
            f"{location}: expected a score from 0 to 100 by the protocol ESA, got {segment.score} by "
            f"{quote(segment.protocol)}"
        )
    return 1 - segment.score / 100


def _lines(path: str, spans: str, count: int) -> Iterator[str]:
    """The lines of a file, one for each of so many sentences."""
    lines = [line["line"] for _, line in read_parallel_lines({"line": path})]
    if len(lines) != count:
        raise DataFormatError(
            f"{path}: expected {count} lines, one for each sentence of {spans}, got {len(lines)}"
        )
    return iter(lines)
