"""Files of word-level quality estimation: sentences, their translations, and annotations of the translations.

A data path is one of

- a prefix: `data/train` for `data/train.src`, `data/train.mt` and, where they exist, the files of the other parts;
- an object with the path of each part: `{"source": "a.src", "target": "a.mt", "tags": "a.tags"}`;
- a `.json` file with such an object, whose paths are relative to its folder;
- a `.jsonl` file of tagged translations, one object per line with the parts below as fields, each a string or a list:
  `{"source": ["a", "b"], "target": ["A", "B"], "tags": ["OK", "BAD"], "alignments": [[0, 0], [1, 1]]}`. In the
  predictor's answers, `tokens` is the target;
- a `.tsv` file of judgments of critical errors (WMT21), without a header: number, source, translation, the judgments
  of several annotators, such as `[0, 1, 0]`, and that of the majority. 1 is a critical error, and 0 is none; others,
  for sentences that are not understandable, do not count;
- a `.tsv` or `.jsonl` file of error spans (see `spans`), or an object with the `spans` part; WMT23 files without
  sources also need the `source` part, one sentence per line, and can have `alignments`;
- a pattern for such paths, such as `data/*/train` or `data/*.jsonl`; if it matches prefixes, other files are left out;
- a list of these, which are read in order.

Files can be compressed: `data/train.src.gz`.

Line k of each file belongs to sentence k:

| part | file of a prefix | a line |
|---|---|---|
| source, target | `.src`, `.mt` | words, separated by blanks; the translation may end in `<EOS>` |
| tags | `.tags` | OK and BAD in one of the layouts of `layouts` |
| source_tags | `.source_tags` or `.src_tags` | a tag for each source word |
| alignments | `.src-mt.alignments` or `.align` | pairs `i-j`, source and target word, from 0; the line may be empty |
| hter | `.hter` | a number of at least 0, the translation edit rate of the translation |
| da | `.da` | the direct assessment of the translation, as a z-score; higher is better |
| critical | (JSON lines only) | the share of annotators who found a critical error, from 0 to 1 |

If the lines of a file have tabs, only tabs separate words, tags and pairs: see `split_fields` in `data.files`.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from allennlp_nef.data.files import (
    check_separator,
    data_paths,
    is_json_lines,
    parse_object,
    read_lines,
    read_objects,
    split_fields,
)
from allennlp_nef.data.sentence import Offsets, Sentence, Split, find_words
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.layouts import check_words, parse_links, split_tags, without_eos
from allennlp_nef.qe.span_files import read_table_of_spans, segments_in
from allennlp_nef.qe.spans import ErrorSpan, project_spans
from allennlp_nef.qe.translated_sentence import TranslatedSentence

DataPath = str | Mapping[str, str] | Sequence["str | Mapping[str, str]"]
# Every prefix has a file with this ending.
PREFIX_ENDING = ".src"
# The file endings of the optional parts, the preferred one first.
_OPTIONAL = {
    "tags": (".tags",),
    "alignments": (".src-mt.alignments", ".align"),
    "source_tags": (".source_tags", ".src_tags"),
    "hter": (".hter",),
    "da": (".da",),
    "critical": (),
}
# The parts that are numbers: the field of `TranslatedSentence`, the bounds, and a text for errors.
_NUMBERS = {
    "hter": ("score", 0, math.inf, " of at least 0"),
    "da": ("judgment", -math.inf, math.inf, ""),
    "critical": ("critical", 0, 1, " from 0 to 1"),
}
_LABELS = [part for part in _OPTIONAL if part != "alignments"]
_JUDGMENTS = re.compile(r"\[[0-9](, *[0-9])*\]")


@dataclass
class ReadOptions:
    """Options of `read_examples`; see the `wmt_word_qe` reader."""

    tagged: str = "target"
    eos: bool = False
    severities: bool = False
    sentence_scores: bool = False
    language_pair: str | None = None
    skip_invalid_spans: bool = False
    split_source: Split | None = None
    """Splits raw text into words with offsets. Files with tags or alignments are always split by `split_fields`."""
    split_target: Split | None = None


def read_examples(path: DataPath, options: ReadOptions) -> Iterator[TranslatedSentence]:
    """Reads and checks the sentences of a data path.

    # Raises

    `DataFormatError`: invalid data, with the file and line.
    `OSError`: a file cannot be opened.
    """
    spans = (options.language_pair, options.skip_invalid_spans)
    for each in data_paths(path, PREFIX_ENDING):
        files = find_files(each)
        if "spans" not in files:
            yield from _read_lines(files, options)
            continue
        path = files["spans"]
        if has_judgments(path):
            yield from _read_judgments(path, options)
            continue
        if not is_json_lines(path):
            yield from _read_spans(files, read_table_of_spans(path, *spans), options)
            continue
        objects = read_objects(path)
        first = next(objects, None)
        if first is None:
            raise DataFormatError(f"{path}:1: expected at least one object, got none")
        objects = chain([first], objects)
        # An object with tags can also have spans, which add information only if there are severities.
        may_have_tags = len(files) == 1 and not options.severities
        has_spans = first[1].get("spans") is not None and first[1].get("tags") is None
        if may_have_tags and not has_spans and not first[1].keys().isdisjoint(_LABELS):
            yield from _read_objects(path, objects, first[1], options)
        else:
            if may_have_tags:
                objects = _without(_LABELS, "as there are spans", path, objects)
            yield from _read_spans(files, segments_in(path, objects, *spans), options)


def _read_lines(files: dict[str, str], options: ReadOptions) -> Iterator[TranslatedSentence]:
    """Reads one text file per part."""
    is_raw = {"tags", "source_tags", "alignments"}.isdisjoint(files)
    files = _used_files(files, options)
    if not is_raw:
        options = replace(options, split_source=None, split_target=None)
    has_fields = options.split_target is None
    for lines, where in read_parallel(files, has_fields):
        yield _example(lines, where, options)


def _read_objects(
    path: str,
    objects: Iterable[tuple[int, dict[str, Any]]],
    first: Mapping[str, Any],
    options: ReadOptions,
) -> Iterator[TranslatedSentence]:
    """Reads JSON objects of tagged translations, which have the same parts as the `first` one."""
    has_part = {part: first.get(part) is not None for part in _OPTIONAL}
    has_part |= {part: part in first for part in _NUMBERS}  # null is an unknown number
    parts = ["source", "target", *(part for part in _OPTIONAL if has_part[part])]
    used = _used_files(dict.fromkeys(parts, path), options)
    if not {"tags", "source_tags", "alignments"}.isdisjoint(parts):
        options = replace(options, split_source=None, split_target=None)
    lost = [part for part in _OPTIONAL if part not in parts]
    lost += ["spans"] if "tags" not in parts else []
    for number, value in _without(lost, "as in the first object", path, objects):
        where = f"{path}:{number}"
        if all(value.get(part) is None for part in _LABELS):
            raise DataFormatError(
                f"{where}: expected tags or a score, as in the first object, got none"
            )
        row = {"target": value.get("tokens"), **value}
        yield _example({part: row.get(part) for part in used}, dict.fromkeys(used, where), options)


def _fields_of(value: Any, where: str) -> list[str]:
    """Returns the words or tags of a line, or of a string or a list in JSON."""
    if isinstance(value, str):
        return split_fields(value)
    words: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(word, str) and split_fields(word) == [word] for word in words):
        raise DataFormatError(f"{where}: expected a string or a list of words, got {quote(value)}")
    return words


def _read_spans(
    files: dict[str, str], segments: Iterable[TranslatedSentence], options: ReadOptions
) -> Iterator[TranslatedSentence]:
    """Reads segments with error spans, optionally with text files for the source and alignments."""
    _used_files(files, options)
    splits = (options.split_source, options.split_target)
    of_source, of_target = (split or _split_at_whitespace for split in splits)
    options = replace(options, split_source=of_source, split_target=of_target)
    path, segments = files["spans"], list(segments)
    others = {part: file for part, file in files.items() if part != "spans"}
    rows = list(read_parallel(others)) if others else [({}, {})] * len(segments)
    if len(rows) != len(segments):
        raise DataFormatError(
            f"{path}:1: expected a sentence for each of {len(rows)} lines of "
            f"{' and '.join(others.values())}, got {len(segments)}"
        )
    for segment, (lines, where) in zip(segments, rows):
        source = lines.get("source", segment.source.text)
        if source is None:
            raise DataFormatError(
                f"{segment.place}: expected a source, or the part source in the data path"
            )
        row = {**lines, "source": source, "target": segment.target.text}
        where = {"source": segment.place, **where, "target": segment.place}
        words = _example(row, where, options)
        segment.source, segment.target, segment.links = words.source, words.target, words.links
        _add_tags(segment, options)
        yield segment


def _without(
    parts: Sequence[str], reason: str, path: str, objects: Iterable[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields objects. Raises a `DataFormatError` at one with some of the parts, which would be lost."""
    for number, value in objects:
        for part in parts:
            if value.get(part) is not None:
                raise DataFormatError(
                    f"{path}:{number}: expected no {part}, {reason}, got {quote(value[part])}"
                )
        yield number, value


def has_judgments(path: str) -> bool:
    """Returns whether a file has the five columns of judgments of critical errors."""
    return not is_json_lines(path) and next(read_lines(path), (1, ""))[1].count("\t") == 4


def _read_judgments(path: str, options: ReadOptions) -> Iterator[TranslatedSentence]:
    """Reads judgments of critical errors."""
    for number, line in read_lines(path):
        where, cells = f"{path}:{number}", line.split("\t")
        if len(cells) != 5 or not _JUDGMENTS.fullmatch(cells[3]):
            raise DataFormatError(
                f"{where}: expected a number, a source, a translation, judgments such as [0, 1, 0], and that of the "
                f"majority, separated by tabs, got {quote(line)}"
            )
        counted = [each for each in json.loads(cells[3]) if each in (0, 1)]
        if not counted:
            raise DataFormatError(f"{where}: expected a judgment of 0 or 1, got {quote(cells[3])}")
        row = {"source": cells[1], "target": cells[2], "critical": sum(counted) / len(counted)}
        yield _example(row, dict.fromkeys(row, where), options)


def find_files(path: str | Mapping[str, str]) -> dict[str, str]:
    """Returns the file of each part of a data path that is not a list.

    # Raises

    `DataFormatError`: an object with an unknown part, without source and target or spans, or whose values are not
    paths.
    """
    where = "data path"
    if isinstance(path, Mapping):
        files = dict(path)
    elif (path := os.fspath(path)).removesuffix(".gz").endswith((".tsv", ".jsonl")):
        return {"spans": path}
    elif path.endswith(".json"):
        where = f"{path}:1"
        with open(path, encoding="utf-8-sig") as file:
            try:
                files = {
                    part: os.path.join(os.path.dirname(path), name)
                    for part, name in parse_object(file.read()).items()
                }
            except (ValueError, TypeError) as error:
                raise DataFormatError(f"{where}: expected an object of paths ({error})") from error
    else:
        files = {"source": f"{path}.src", "target": f"{path}.mt"}
        for part, endings in {"source": (".src",), "target": (".mt",), **_OPTIONAL}.items():
            names = [path + ending + gz for ending in endings for gz in ("", ".gz")]
            found = list(filter(os.path.isfile, names))
            if found:
                files[part] = found[0]
    required, optional = ["source", "target"], list(_OPTIONAL)
    if "spans" in files:
        required, optional = ["spans"], ["source", "alignments"]
    has_paths = all(isinstance(name, str) for name in files.values())
    if not (has_paths and {*required} <= files.keys() <= {*required, *optional}):
        raise DataFormatError(
            f"{where}: expected the paths of {', '.join(required)} and perhaps {', '.join(optional)}, "
            f"got {quote(files, 100)}"
        )
    return files


def _split_at_whitespace(text: str) -> tuple[list[str], Offsets]:
    words = text.split()
    return words, find_words(text, words)


def read_parallel(
    files: Mapping[str, str], has_fields: bool = False
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Reads files in lockstep. Yields the line of each part, and its `path:line` for errors. If the lines have fields,
    such as words, `check_separator` checks them. Raises a `DataFormatError` if the files have different numbers of
    lines.
    """
    readers = [read_lines(path) for path in files.values()]
    if has_fields:
        readers = [check_separator(path, lines) for path, lines in zip(files.values(), readers)]
    for number, lines in enumerate(zip_longest(*readers), 1):
        where = {part: f"{path}:{number}" for part, path in files.items()}
        for part, line in zip(files, lines):
            if line is None:
                longer = next(at for at, other in zip(where.values(), lines) if other)
                raise DataFormatError(
                    f"{where[part]}: expected a line as in {longer}, got the end of the file"
                )
        yield {part: line[1] for part, line in zip(files, lines)}, where


def _used_files(files: Mapping[str, str], options: ReadOptions) -> dict[str, str]:
    """Returns the files that the options need.

    Raises a `DataFormatError` if the files are labeled, but not for the tokens that are tagged.
    """
    parts = ("tags", "source_tags")
    needed, unused = reversed(parts) if options.tagged == "source" else parts
    labeled = [files[part] for part in ("tags", "source_tags", "spans") if part in files]
    if options.tagged != "target" and labeled and needed not in files:
        raise DataFormatError(f"{labeled[0]}:1: expected {needed} for the option tagged")
    if options.severities and "tags" in files:
        raise DataFormatError(f"{files['tags']}:1: expected error spans for the option severities")
    left_out = {unused} if options.sentence_scores else {unused, *_NUMBERS}
    return {part: path for part, path in files.items() if part not in left_out}


def _example(
    row: Mapping[str, Any],
    where: Mapping[str, str],
    options: ReadOptions,
) -> TranslatedSentence:
    """Returns the example of a row, which has a text or a list for each part."""
    sides: list[Sentence] = []
    for part, split in (("source", options.split_source), ("target", options.split_target)):
        path, _, line = where[part].rpartition(":")
        side = Sentence([], text=row[part] if isinstance(row[part], str) else None)
        side.path, side.lines = path, [int(line)]
        if split and side.text is not None:
            side.words, side.offsets = split(side.text)
        else:
            side.words = _fields_of(row[part], f"{where[part]}: {part}")
        sides.append(side)
    example = TranslatedSentence(sides[0], sides[1])
    source, target = (side.words for side in sides)
    check_words(source, target, options.tagged, where)
    if "alignments" in row:
        lengths = len(source), len(without_eos(target))
        example.links = parse_links(row["alignments"], *lengths, where["alignments"])
    for part, tokens in (("tags", target), ("source_tags", source)):
        if part in row:
            tags = _fields_of(row[part], f"{where[part]}: {part}")
            example.tags = split_tags(tags, tokens, where[part], options.tagged, options.eos)
    for part in [each for each in _NUMBERS if row.get(each) is not None]:
        name, low, high, expected = _NUMBERS[part]
        try:
            number = float(str(row[part]))
        except ValueError:
            number = math.nan
        if not low <= number <= high or math.isinf(number):
            raise DataFormatError(
                f"{where[part]}: {part}: expected a number{expected}, got {quote(row[part])}"
            )
        setattr(example, name, number)
    return example


def _add_tags(segment: TranslatedSentence, options: ReadOptions) -> None:
    """Adds the tags of an annotated translation, and turns its ESA score into one from 0 to 1."""
    target, text = segment.target, segment.target.text or ""
    if segment.spans is not None:
        spans, end = segment.spans, len(text)
        if segment.omission:
            spans = [*spans, ErrorSpan(end, end, segment.omission)]
        tags = project_spans(text, spans, target.offsets or [], options.severities)
        words = without_eos(target.words) if options.eos else target.words
        segment.tags = tags[: len(words) + options.eos]
    if not options.sentence_scores:
        segment.score = None
    if segment.score is not None:
        if segment.protocol != "ESA" or not 0 <= segment.score <= 100:
            raise DataFormatError(
                f"{segment.place}: expected a score from 0 to 100 of the protocol ESA, got {segment.score}"
            )
        segment.score = 1 - segment.score / 100
