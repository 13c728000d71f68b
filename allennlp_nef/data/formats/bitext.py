"""
Bitexts: sentences beside their translations, as translators have them. Scores and errors can be added to a file.

| format | names of files | what is added |
|---|---|---|
| XLIFF 1.2 and 2 | `.xlf`, `.xliff` | a `note` a segment, and `mrk` around each error |
| TMX 1.4 | `.tmx` | a `prop` in the translation, and `hi` around each error |
| two columns | `.tsv`, `.csv` | the columns `ADDED`, and maybe `DECIDED`, at the end of each row |
| JSON objects | `.jsonl` | nothing: its fields are `source` and `target`, or those of answers |
| two files of lines | any other | nothing |

A `.tsv` file has no quotes: a tab separates, and a line is a row. A `.csv` file is that of the module `csv`. The first
row may name the columns, `source` and `target` among them; without names a row has two.

Text is what a reader sees. Inline elements of XLIFF and TMX are left out, and what they enclose stays, unless it is
code of another format (`ph`, `bpt`, `ept`, `it`). One that stands for a line break is one.

Python's expat reads XML, as it tells the place of each piece of text. So all but what is added stays as it was, byte
for byte: what writes a tree of elements changes quotes, line ends, references and indentation. Declarations of
entities are refused, and nothing outside of the file is read.
"""

import csv
import json
import re
from codecs import lookup
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from allennlp_nef.data.formats.error_spans import NO_ERROR, PredictedSpan
from allennlp_nef.data.formats.text_files import (
    csv_reader,
    is_blank,
    parse_lines,
    read_bytes,
    read_parallel_lines,
    undecodable,
)
from allennlp_nef.errors import DataFormatError, quote

MAX_BLANKS = 1000
"""Between two words of an answer."""
ADDED = ("score", "start_ids", "end_ids", "errors", "probabilities")
"""The columns that are added to tables. Starts, ends and errors are as in WMT23: -1, -1 and no-error for none."""
_ADDED = re.compile(
    rb'<(?:[^\s<>]+:)?(?:note (?:from="allennlp_nef"|category="quality-estimation")|prop type="x-quality-estimation")'
)
"""What begins the note of a segment in XLIFF 1.2 and 2, and in TMX."""
DECIDED = ("error_free_probability", "accept")
"""The columns that are added, too, where an annotation says whether the translation needs a reviewer."""


class BitextSegment(NamedTuple):
    """A sentence and its translation."""

    name: str
    """What people call it, such as `line 3` or `unit 7`."""
    place: str
    """The beginning of a message about it, such as `a.tsv:3`."""
    source: str
    """Empty where there is none, as `target`."""
    target: str
    fields: dict[str, Any] | None = None
    """The JSON object that it comes from."""


class Annotation(NamedTuple):
    """What is added to a segment."""

    score: float
    """Higher for a worse translation."""
    spans: Sequence[PredictedSpan]
    error_free_probability: float | None = None
    accept: bool | None = None
    """Whether no reviewer needs to look; None where the model does not decide it, and has no probability."""


@dataclass
class Bitext:
    """The segments of a file."""

    segments: list[BitextSegment]
    source_language: str | None = None
    target_language: str | None = None
    insertions: Callable[[Sequence[Annotation | None]], Iterable[tuple[int, str]]] | None = None
    """What to add to `content` for an annotation a segment: byte positions and texts. None: nothing can be added."""
    content: bytes = b""
    """The file, in UTF-8."""
    encoding: str = "utf-8"
    """That of the file."""

    @property
    def has_annotations(self) -> bool:
        """Whether scores were added to the XML of the file before."""
        return _ADDED.search(self.content) is not None

    def annotated(self, annotations: Sequence[Annotation | None]) -> bytes:
        """
        The file with scores and errors. All else is as it was.

        # Parameters

        annotations : `Sequence[Annotation | None]`
            One a segment; None for one to which nothing is added.

        # Raises

        `DataFormatError`: a format to which nothing can be added.
        """
        if self.insertions is None:
            raise DataFormatError("expected XLIFF, TMX, TSV or CSV, to which scores can be added")
        pieces, last = [], 0
        for position, text in sorted(self.insertions(annotations), key=lambda item: item[0]):
            pieces += [self.content[last:position].decode(), text]
            last = position
        text = "".join([*pieces, self.content[last:].decode()])
        return text.encode(self.encoding, "xmlcharrefreplace")


def read_bitext(
    paths: Sequence[str], source_language: str | None = None, target_language: str | None = None
) -> Bitext:
    """
    The bitext of a file, or of two files of lines.

    # Parameters

    paths : `Sequence[str]`
        A file in one of the formats of this module, or the files of sources and of translations.
    source_language, target_language : `str`, optional (default = `None`)
        Codes such as "en". In a TMX file of several languages they say which are read; other files may lack them.

    # Raises

    `DataFormatError`: a file of another format, or one that breaks the rules of its format.
    """
    if len(paths) > 2:
        raise DataFormatError(
            f"expected one file, or one of sources and one of translations, got {len(paths)}"
        )
    ending = paths[0].lower().rpartition(".")[2]
    if len(paths) == 2:
        bitext = _read_lines(*paths)
    elif ending.endswith(("xlf", "xliff", "tmx")):
        bitext = _read_xml(paths[0], source_language, target_language)
    elif ending in ("tsv", "csv"):
        bitext = _read_table(paths[0], "," if ending == "csv" else "\t")
    elif ending == "jsonl":
        bitext = Bitext(list(_read_objects(paths[0])))
    else:
        raise DataFormatError(
            f"{paths[0]}: expected a name that ends in .tsv, .csv, .xlf, .xliff, .tmx or .jsonl, or the files of "
            "sources and of translations"
        )
    if not bitext.segments:
        raise DataFormatError(f"{paths[0]}: expected at least one sentence, got none")
    bitext.source_language = source_language or bitext.source_language
    bitext.target_language = target_language or bitext.target_language
    return bitext


# Lines


def _read_lines(source: str, target: str) -> Bitext:
    lines = read_parallel_lines({"source": source, "target": target}, ("source", "target"))
    return Bitext(
        [BitextSegment(f"line {n}", f"{target}:{n}", x["source"], x["target"]) for n, x in lines]
    )


def _read_objects(path: str) -> Iterator[BitextSegment]:
    """The objects of a file: requests of quality estimation, answers to them, or both in one."""

    def text_of(value: Any, name: str) -> str | None:
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return " ".join(value)
        if not isinstance(value, str | None):
            raise ValueError(f"{name}: expected a string or a list of words, got {quote(value)}")
        return value

    def parse(number: int, line: str) -> BitextSegment:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected a JSON object, got {quote(line)} ({error})") from None
        if not isinstance(fields, dict):
            raise ValueError(f"expected a JSON object, got {quote(line)}")
        source = text_of(fields.get("source"), "source")
        target = text_of(fields.get("target"), "target")
        if target is None and "error" not in fields:
            target = _text_of_tokens(fields)
        name = str(fields["id"]) if "id" in fields else f"line {number}"
        return BitextSegment(name, f"{path}:{number}", source or "", target or "", fields)

    return parse_lines(path, parse, "JSON object, got an empty file")


def _text_of_tokens(answer: dict[str, Any]) -> str:
    """The translation of an answer, as far as it is known: its words at their places, with blanks between them."""
    tokens, offsets = answer.get("tokens"), answer.get("offsets")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ValueError("expected the field target, or tokens, a list of words, got neither")
    if offsets is None:
        return " ".join(token for token in tokens if token != "<EOS>")
    text = ""
    try:
        for token, (start, end) in zip(tokens, offsets):
            if not len(text) <= start <= len(text) + MAX_BLANKS:
                raise ValueError
            text = text.ljust(start) + token[: end - start]
    except (OverflowError, TypeError, ValueError):
        raise ValueError(
            f"offsets: expected a start and an end for each word, got {quote(offsets)}"
        ) from None
    return text


# Tables


def _decode(path: str, declared: str = "utf-8") -> tuple[str, str]:
    """The text of a file, with its byte order mark, and its encoding: that of the mark, or the declared one."""
    data = read_bytes(path)
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
    encoding = next((name for mark, name in marks.items() if data.startswith(mark)), declared)
    try:
        if lookup(encoding).name in _NO_TEXT_ENCODINGS:
            raise LookupError
        return data.decode(encoding), encoding
    except LookupError:
        raise DataFormatError(
            f"{path}:1: expected an encoding that Python knows, got {quote(encoding)}"
        ) from None
    except UnicodeError:
        raise undecodable(path, encoding) from None


def _read_table(path: str, delimiter: str) -> Bitext:
    """A row of `.tsv` is a line, and one of `.csv` what the module `csv` takes for one."""
    text, encoding = _decode(path)
    lines = re.findall("[^\n]*\n|[^\n]+", text)
    rows = list(_rows(path, lines, delimiter))  # the cells, the first line and the end of each
    header = [cell.strip().lower() for cell in rows[0][0]] if rows else []
    names = {name: i for i, name in enumerate(header)}
    has_names = "source" in names and "target" in names
    for name in ("source", "target"):
        if has_names and header.count(name) > 1:
            raise DataFormatError(f"{path}:1: expected one column {name}, got {header.count(name)}")
    taken = [name for name in (*ADDED, *DECIDED) if name in names]
    if has_names and taken:
        raise DataFormatError(
            f"{path}:1: expected no column {taken[0]}, which may be added, got one"
        )
    width, why = 2, "or a first row with the names of the columns, source and target among them"
    if has_names:
        width, why = len(rows[0][0]), "as in the first row"
    segments = []
    for cells, line, _ in rows:
        if len(cells) != width:
            raise DataFormatError(
                f"{path}:{line}: expected {width} columns, {why}, got {len(cells)}"
            )
        source, target = (cells[names[x]] for x in ("source", "target")) if has_names else cells
        segments.append(BitextSegment(f"line {line}", f"{path}:{line}", source, target))
    ends = [end for _, _, end in rows]

    def insertions(annotations: Sequence[Annotation | None]) -> Iterator[tuple[int, str]]:
        has_decisions = any(x is not None and x.accept is not None for x in annotations)
        columns = ADDED + DECIDED if has_decisions else ADDED
        added = [list(columns)] if has_names else []
        added += [_cells(annotation, len(columns)) for annotation in annotations]
        for end, cells in zip(ends, added):
            yield end, "".join(delimiter + cell for cell in cells)

    return Bitext(segments[has_names:], None, None, insertions, text.encode(), encoding)


def _rows(path: str, lines: Sequence[str], delimiter: str) -> Iterator[tuple[list[str], int, int]]:
    """The cells of each row, its first line from 1, and the byte after its last cell. Blank lines are no rows."""
    position, number = 0, 0
    block = ""

    def more() -> Iterator[str]:
        nonlocal number, block
        for line in lines:
            number += 1
            block += line
            yield line.removeprefix("\ufeff") if number == 1 else line

    is_tsv = delimiter == "\t"
    table = (row.rstrip("\r\n").split("\t") for row in more()) if is_tsv else csv_reader(more())
    while True:
        first = number + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            reason = str(error).partition(" - ")[0]  # without advice for programmers
            raise DataFormatError(f"{path}:{number}: expected a row of CSV, got {reason}") from None
        if is_tsv and "\t" in block or not is_blank(block.removeprefix("\ufeff")):
            yield cells, first, position + len(block.rstrip("\r\n").encode())
        position += len(block.encode())
        block = ""


def _cells(annotation: Annotation | None, width: int) -> list[str]:
    """The first `width` cells of `ADDED` and `DECIDED`. None has a comma or a quote, so they need no quotes."""
    if annotation is None:
        return [""] * width
    spans = annotation.spans
    columns: list[list[Any]] = [
        [span.start for span in spans] or [-1],
        [span.end for span in spans] or [-1],
        [span.severity for span in spans] or [NO_ERROR],
        [f"{span.probability:.4f}" for span in spans],
    ]
    cells = [f"{annotation.score:.4f}", *(" ".join(map(str, column)) for column in columns)]
    if annotation.error_free_probability is not None:
        cells += [f"{annotation.error_free_probability:.4f}", json.dumps(annotation.accept)]
    return cells + [""] * (width - len(cells))


# XML

_NO_TEXT_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Those that Python knows, and that no file has."""
_CODES = ("ph", "bpt", "ept", "it", "ut")
"""Elements that hold code of another format."""
_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")


class _Run(NamedTuple):
    """Adjacent characters of the text, and the bytes that they come from."""

    text: str
    start: int
    end: int
    """The same as the start, where the text stands for an element."""
    mid: str | None
    """The segment of XLIFF 1.2 that it is in."""
    is_cdata: bool
    """In CDATA no elements can stand."""
    is_literal: bool
    """Whether the bytes are the text in UTF-8: no reference, and no line end that was converted."""


@dataclass
class _Side:
    """A source or a translation: its runs, and where it stands."""

    line: int
    start: int
    """The byte of its start tag."""
    prefix: str
    """The prefix of the names, such as `xlf:`."""
    language: str = ""
    runs: list[_Run] = field(default_factory=list)
    mids: list[str] = field(default_factory=list)
    end: int = 0
    """The byte after its end tag."""

    def of(self, mid: str | None) -> list[_Run]:
        return [run for run in self.runs if mid is None or run.mid == mid]


def _text(runs: Iterable[_Run]) -> str:
    return "".join(run.text for run in runs)


@dataclass
class _Notes:
    """The notes of a `unit` of XLIFF 2."""

    position: int = 0
    """The byte where the next one is added; 0 while it is not known."""
    exist: bool = False
    """Whether the element `notes` is there."""


@dataclass
class _Unit:
    """What holds a source and its translations: `trans-unit`, `segment` or `tu`."""

    name: str
    line: int
    notes: _Notes
    sides: list[tuple[str, _Side]] = field(default_factory=list)
    """With the name of the element: source, seg-source, target, seg."""

    def side(self, name: str) -> _Side | None:
        return next((side for own, side in self.sides if own == name), None)


_UNITS = {"1": "trans-unit", "2": "segment", "tmx": "tu"}
_SIDES = {
    "1": ("trans-unit", ("source", "seg-source", "target")),
    "2": ("segment", ("source", "target")),
    "tmx": ("tuv", ("seg",)),
}
"""The names of the elements with text, and that of the element around them."""


class _XmlReader:
    """The handlers of expat for XLIFF and TMX."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path, self.content = path, content
        self.kind = ""
        """That of the root: "1" and "2" for the versions of XLIFF, or "tmx"."""
        self.languages: list[str | None] = [None, None]
        self.units: list[_Unit] = []
        self.stack: list[tuple[str, dict[str, str]]] = []
        """The elements that are open."""
        self.group, self.notes = "", _Notes()
        """The name and the notes of the `unit` of XLIFF 2 that is open."""
        self.side: _Side | None = None
        self.depth = 0
        """That of the stack within the side."""
        self.codes = 0
        """How many of the open elements hold code."""
        self.mids: list[str | None] = []
        """The segment of XLIFF 1.2 in each open element of the side."""
        self.in_cdata = False
        parser = self.parser = expat.ParserCreate("utf-8")
        parser.buffer_text = False
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartCdataSectionHandler = lambda: setattr(self, "in_cdata", True)
        parser.EndCdataSectionHandler = lambda: setattr(self, "in_cdata", False)
        parser.EntityDeclHandler = self.refuse_entity
        parser.SkippedEntityHandler = self.refuse_entity
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            raise DataFormatError(
                f"{path}:{error.lineno}: expected XML, got text that is not ({message})"
            ) from None

    def refuse_entity(self, name: str, *_: object) -> None:
        raise DataFormatError(
            f"{self.path}:{self.parser.CurrentLineNumber}: expected no entities but those of XML, got {quote(name)}"
        )

    def start(self, qualified: str, attributes: dict[str, str]) -> None:
        prefix, colon, name = qualified.rpartition(":")
        parent = self.stack[-1][0] if self.stack else ""
        position, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        if not self.stack:
            self.start_root(name, attributes)
        self.stack.append((name, attributes))
        if self.side is not None:
            self.start_inline(self.side, name, attributes, position)
            return
        if (
            self.kind == "2"
            and parent == "unit"
            and name in ("originalData", "segment", "ignorable")
        ):
            self.notes.position = self.notes.position or position
        if self.kind == "2" and name == "segment" and parent != "unit":
            raise DataFormatError(f"{self.path}:{line}: expected a unit around segment, got none")
        owner, names = _SIDES[self.kind]
        if parent == owner and name in names:
            self.side = _Side(line, position, prefix + colon)
            if self.kind == "tmx":
                tuv = self.stack[-2][1]
                self.side.language = tuv.get("xml:lang", tuv.get("lang", ""))
            self.depth, self.codes, self.mids = len(self.stack), 0, [None]
            if not self.units:
                raise DataFormatError(
                    f"{self.path}:{line}: expected a {_UNITS[self.kind]} around {owner}, got none"
                )
            if self.kind != "tmx" and self.units[-1].side(name) is not None:
                raise DataFormatError(
                    f"{self.path}:{line}: expected one {name} in {self.units[-1].name}, got another one"
                )
            self.units[-1].sides.append((name, self.side))
        elif name == _UNITS[self.kind]:
            own = attributes.get("tuid" if self.kind == "tmx" else "id")
            label = f"unit {own or len(self.units) + 1}"
            if self.kind == "2":
                label = f"unit {self.group}" + (f", segment {own}" if own else "")
            self.units.append(_Unit(label, line, self.notes))
        elif name == "file" and self.kind == "1":
            given = attributes.get("source-language"), attributes.get("target-language")
            self.languages = [old or new for old, new in zip(self.languages, given)]
        elif name == "header" and self.kind == "tmx":
            language = attributes.get("srclang", "*all*")
            self.languages[0] = None if language == "*all*" else language
        elif name == "unit":
            self.group, self.notes = attributes.get("id", ""), _Notes()

    def start_root(self, name: str, attributes: dict[str, str]) -> None:
        version = attributes.get("version", "")
        if name == "tmx":
            self.kind = "tmx"
        elif name == "xliff" and version[:2] in ("1.", "2."):
            self.kind = version[0]
            self.languages = [attributes.get("srcLang"), attributes.get("trgLang")]
        else:
            raise DataFormatError(
                f"{self.path}:{self.parser.CurrentLineNumber}: expected xliff of version 1.2 or 2, or tmx, got "
                + quote(f"{name} {version}".strip())
            )

    def start_inline(
        self, side: _Side, name: str, attributes: dict[str, str], position: int
    ) -> None:
        kinds = (attributes.get(key) for key in ("ctype", "subType", "type"))
        if (
            name in ("x", "ph")
            and not self.codes
            and any(kind in ("lb", "xlf:lb") for kind in kinds)
        ):
            side.runs.append(_Run("\n", position, position, self.mids[-1], False, False))
        self.codes += name in _CODES
        mid = self.mids[-1]
        if self.kind == "1" and name == "mrk" and attributes.get("mtype") == "seg":
            mid = attributes.get("mid", "")
            side.mids.append(mid)
        self.mids.append(mid)

    def end(self, qualified: str) -> None:
        name, _ = self.stack.pop()
        position = self.parser.CurrentByteIndex
        if self.side is None:
            if name == "notes" and self.stack[-1][0] == "unit":
                if self.content[:position].endswith(b"/>"):
                    raise DataFormatError(
                        f"{self.path}:{self.parser.CurrentLineNumber}: expected a note in notes, got none"
                    )
                self.notes.position, self.notes.exist = position, True
        elif len(self.stack) < self.depth:
            self.side.end = position  # that of <target/>, which expat reports after it
            if self.content.startswith(f"</{qualified}".encode(), position):
                self.side.end = self.content.index(b">", position) + 1
            self.side = None
        else:
            self.codes -= name in _CODES
            self.mids.pop()

    def characters(self, text: str) -> None:
        if self.side is None or self.codes:
            return
        start = self.parser.CurrentByteIndex
        first = self.content[start : start + 1]
        is_literal = self.in_cdata or first not in (b"&", b"\r")
        if is_literal:
            end = start + len(text.encode())
        elif first == b"&":
            end = self.content.index(b";", start) + 1
        else:
            end = start + 1 + (self.content[start + 1 : start + 2] == b"\n")
        run = _Run(text, start, end, self.mids[-1], self.in_cdata, is_literal)
        self.side.runs.append(run)


class _Pair(NamedTuple):
    """A segment in the file: its unit, its translation, and the part of it that is the segment."""

    segment: BitextSegment
    unit: _Unit
    target: _Side | None
    mid: str | None = None


def _read_xml(path: str, source_language: str | None, target_language: str | None) -> Bitext:
    data = read_bytes(path)
    declared = _DECLARED.match(data)
    text, encoding = _decode(path, declared[1].decode() if declared else "utf-8")
    content = text.encode()
    reader = _XmlReader(path, content)
    source, target = reader.languages
    if reader.kind == "tmx":
        source, target = _tmx_languages(reader, source_language or source, target_language)
        pairs = [pair for unit in reader.units for pair in _tmx_pairs(path, unit, source, target)]
    else:
        pairs = [pair for unit in reader.units for pair in _xliff_pairs(path, unit)]
    add = {"1": _add_to_xliff_1, "2": _add_to_xliff_2, "tmx": _add_to_tmx}[reader.kind]

    def insertions(annotations: Sequence[Annotation | None]) -> Iterator[tuple[int, str]]:
        taken = re.findall(rb'"qe-(\d{1,9})"', content)
        numbers = count(1 + max(map(int, taken), default=0))
        wrapped: dict[int, str] = {}
        for pair, annotation in zip(pairs, annotations):
            if annotation is None or pair.target is None:
                continue
            notes, prefix = pair.unit.notes, pair.target.prefix
            if reader.kind == "2" and not notes.exist and notes.position not in wrapped:
                yield notes.position, f"<{prefix}notes>"
                wrapped[notes.position] = f"</{prefix}notes>"
            yield from add(content, pair, pair.target, annotation, numbers)
        for position, end in wrapped.items():
            yield position, end + _indent(content, position)

    segments = [pair.segment for pair in pairs]
    return Bitext(segments, source, target, insertions, content, encoding)


def _xliff_pairs(path: str, unit: _Unit) -> Iterator[_Pair]:
    source, target = unit.side("source"), unit.side("target")
    split = unit.side("seg-source")
    place = f"{path}:{(target or source or unit).line}"
    mids: list[str | None] = [None]
    if split and target and target.mids and split.mids == target.mids:
        outside = _text(run for run in target.runs if run.mid is None)
        if not outside.strip() and len(set(target.mids)) == len(target.mids):
            source, mids = split, list(target.mids)
    for mid in mids:
        name = unit.name if mid is None else f"{unit.name}, segment {mid}"
        text, translation = (_text(side.of(mid)) if side else "" for side in (source, target))
        yield _Pair(BitextSegment(name, place, text, translation), unit, target, mid)


def _is_language(code: str, wanted: str) -> bool:
    code, wanted = (x.lower().replace("_", "-") for x in (code, wanted))
    return code == wanted or code.startswith(wanted + "-")


def _tmx_languages(reader: _XmlReader, source: str | None, target: str | None) -> tuple[str, str]:
    """The languages that are read: the given ones, or that of the header and the only other one."""
    present = list(dict.fromkeys(side.language for unit in reader.units for _, side in unit.sides))
    if not any(present):
        raise DataFormatError(f"{reader.path}: expected tuv elements with xml:lang, got none")
    if source is None:
        source = present[0]
    others = [code for code in present if not _is_language(code, source)]
    if target is None and len(others) == 1:
        target = others[0]
    chosen: dict[str, str | None] = {"source": source, "target": target}
    for name, code in chosen.items():
        if code is None or not any(_is_language(x, code) for x in present):
            raise DataFormatError(
                f"{reader.path}: expected --{name}-language, one of {', '.join(present) or 'none'}, got "
                + ("none" if code is None else quote(code))
            )
    if _is_language(str(target), source) and _is_language(source, str(target)):
        raise DataFormatError(
            f"{reader.path}: expected --target-language, another one than {source}, got {target}"
        )
    return source, str(target)


def _tmx_pairs(path: str, unit: _Unit, source: str, target: str) -> Iterator[_Pair]:
    sources = [side for _, side in unit.sides if _is_language(side.language, source)]
    targets = [side for _, side in unit.sides if _is_language(side.language, target)]
    text = _text(sources[0].runs) if sources else ""
    for side in targets:
        translation = _text(side.runs)
        yield _Pair(BitextSegment(unit.name, f"{path}:{side.line}", text, translation), unit, side)
    if not targets:
        yield _Pair(BitextSegment(unit.name, f"{path}:{unit.line}", text, ""), unit, None)


# What is added to XML


def _summary(annotation: Annotation) -> str:
    """
    What a note says: `score 0.4213; major 0.9132 at 25-30: Tasse`, or `score 0.0213; free of errors 0.9312, needs no
    reviewer`.
    """
    parts = [f"score {annotation.score:.4f}"]
    if annotation.error_free_probability is not None:
        decision = ", needs no reviewer" if annotation.accept else ""
        parts.append(f"free of errors {annotation.error_free_probability:.4f}{decision}")
    for span in annotation.spans:
        place = f"{span.start}-{span.end}: {span.text}" if span.text else f"{span.start}: missing"
        parts.append(f"{span.severity} {span.probability:.4f} at {place}")
    return "; ".join(parts)


def _indent(content: bytes, position: int) -> str:
    """The line end and the blanks before a position; nothing where other text stands there."""
    match = re.search(rb"\r?\n[ \t]*\Z", content[max(0, position - 200) : position])
    return match[0].decode() if match else ""


def _marked(runs: Sequence[_Run], span: PredictedSpan) -> list[tuple[int, int]]:
    """The bytes of the text of a span: a start and an end for each part that no element cuts.

    Nothing where a part of it is CDATA: no element can stand there.
    """
    places: list[tuple[int, int]] = []
    begin = 0
    for run in runs:
        start, end = max(span.start - begin, 0), min(span.end - begin, len(run.text))
        begin += len(run.text)
        if start >= end or run.start == run.end:
            continue
        if run.is_cdata:
            return []
        first, last = run.start, run.end
        if run.is_literal:
            first = run.start + len(run.text[:start].encode())
            last = run.start + len(run.text[:end].encode())
        if places and places[-1][1] == first:
            places[-1] = (places[-1][0], last)
        elif run.text[start:end].strip():
            places.append((first, last))
    return places


def _marks(
    pair: _Pair,
    side: _Side,
    annotation: Annotation,
    name: str,
    attributes: str,
    numbers: Iterator[int],
) -> Iterator[tuple[int, str]]:
    """An element around each part of each span. `attributes` may have `{severity}`, `{probability}` and `{number}`.

    A span that begins within the one before it is in the note alone: elements cannot overlap.
    """
    last = 0
    for span in sorted(annotation.spans, key=lambda span: (span.start, span.end)):
        if span.start < last:
            continue
        last = span.end
        for start, end in _marked(side.of(pair.mid), span):
            values = attributes.format(
                severity=span.severity,
                probability=f"{span.probability:.4f}",
                number=next(numbers),
            )
            yield start, f"<{side.prefix}{name} {values}>"
            yield end, f"</{side.prefix}{name}>"


def _add_to_xliff_1(
    content: bytes, pair: _Pair, side: _Side, annotation: Annotation, numbers: Iterator[int]
) -> Iterator[tuple[int, str]]:
    attributes = 'mtype="x-error" comment="{severity} {probability}"'
    yield from _marks(pair, side, annotation, "mrk", attributes, numbers)
    segment = "" if pair.mid is None else f"segment {pair.mid}: "
    note = f"{side.prefix}note"
    text = escape(segment + _summary(annotation))
    element = f'<{note} from="allennlp_nef" annotates="target">{text}</{note}>'
    yield side.end, _indent(content, side.start) + element


def _add_to_xliff_2(
    content: bytes, pair: _Pair, side: _Side, annotation: Annotation, numbers: Iterator[int]
) -> Iterator[tuple[int, str]]:
    attributes = 'id="qe-{number}" type="nef:error" value="{severity} {probability}"'
    yield from _marks(pair, side, annotation, "mrk", attributes, numbers)
    _, comma, segment = pair.segment.name.rpartition(", ")
    note = f"{side.prefix}note"
    text = escape((f"{segment}: " if comma else "") + _summary(annotation))
    element = f'<{note} category="quality-estimation" appliesTo="target">{text}</{note}>'
    yield pair.unit.notes.position, element


def _add_to_tmx(
    content: bytes, pair: _Pair, side: _Side, annotation: Annotation, numbers: Iterator[int]
) -> Iterator[tuple[int, str]]:
    yield from _marks(
        pair, side, annotation, "hi", 'type="error {severity} {probability}"', numbers
    )
    prop = f"{side.prefix}prop"
    element = f'<{prop} type="x-quality-estimation">{escape(_summary(annotation))}</{prop}>'
    yield side.start, element + _indent(content, side.start)
