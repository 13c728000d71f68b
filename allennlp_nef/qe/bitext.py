"""
Bitexts: sentences with their translations, in translators' file formats. Scores can be written back into a file.

| format | names of files | what is added |
|---|---|---|
| XLIFF 1.2 and 2 | `.xlf`, `.xliff` | a note for each segment |
| TMX | `.tmx` | nothing |
| two columns | `.tsv`, `.csv` | the columns `ADDED` |
| two files with one sentence per line | any other | nothing |

The first row of a table may name its columns, with `source` and `target` among them. A `.tsv` file has no quotes.

The text of XML is what a reader sees: inline elements are left out, and the text in them stays unless it is code of
another format. An XLIFF segment without a translation has an empty target. Units with `translate="no"`, their own or
that of a group around them, are left out.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from allennlp_nef.data.text_files import read_lines
from allennlp_nef.errors import DataFormatError, quote, require_extra
from allennlp_nef.qe.files import read_parallel

ADDED = ("hter", "expected_bad_share", "start_ids", "end_ids", "errors", "probabilities")
"""The columns with scores. Starts, ends and errors are as in WMT23: -1, -1 and no-error if there are no errors."""
Answers = Sequence[Mapping[str, Any]]
"""The answer of the predictor for each segment; `{"error": ...}` for one without a score."""
_CODES = ("bpt", "ept", "it", "ph", "ut")  # inline elements with code of another format
_COMMENT = ""
_FINAL = ("final", "signed-off")  # states of translations that nobody is to change
_LINE_BREAKS = {"lb", "xlf:lb"}  # values of ctype, type and subType


@dataclass(frozen=True)
class SegmentPair:
    """A sentence and its translation. Either may be empty."""

    name: str
    """A name for people, such as "line 3", "unit 7" or, if its state in XLIFF is final, "unit 7 (final)"."""
    place: str
    """Where it stands, such as "a.tsv:3"."""
    source: str
    target: str

    @property
    def missing(self) -> str | None:
        """The side that is blank, "source" or "translation"; None if there is none."""
        if not self.source.strip():
            return "source"
        return None if self.target.strip() else "translation"


@dataclass
class Bitext:
    """The segments of a file."""

    segments: list[SegmentPair]
    source_language: str | None = None
    target_language: str | None = None
    write: Callable[[Path, Answers], None] | None = None
    """Writes the file with the scores and errors of answers; None for formats without a place for them."""


def read_bitext(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
) -> Bitext:
    """
    Reads a bitext.

    # Parameters

    paths : `Sequence[str]`
        A file in one of the formats of this module, or two files of lines: sources and translations.
    source_language, target_language : `str`, optional (default = `None`)
        Codes such as "en". They choose two languages of a TMX file. For other files they are only passed on.
    skip_final : `bool`, optional (default = `False`)
        Whether to leave out XLIFF segments in the state final or signed-off, and approved units.

    # Raises

    `DataFormatError`: a file in another format, or without segments.
    """
    ending = Path(paths[0]).suffix.lower()
    if len(paths) == 2:
        bitext = _read_lines(*paths)
    elif ending in (".tsv", ".csv"):
        bitext = _read_table(paths[0], ending)
    elif ending in (".xlf", ".xliff"):
        bitext = _read_xliff(paths[0], skip_final)
    elif ending == ".tmx":
        bitext = _read_tmx(paths[0], source_language, target_language)
    else:
        raise DataFormatError(
            f"{paths[0]}: expected a .tsv, .csv, .xlf, .xliff or .tmx file, or two text files"
        )
    if not bitext.segments:
        raise DataFormatError(f"{paths[0]}: expected at least one segment, got none")
    bitext.source_language = source_language or bitext.source_language
    bitext.target_language = target_language or bitext.target_language
    return bitext


def _read_lines(source: str, target: str) -> Bitext:
    lines = enumerate(read_parallel({"source": source, "target": target}), 1)
    return Bitext(
        [
            SegmentPair(f"line {number}", where["target"], line["source"], line["target"])
            for number, (line, where) in lines
        ]
    )


# Tables


def _read_table(path: str, ending: str) -> Bitext:
    """Reads a table. Blank lines are skipped."""
    lines = (line for _, line in read_lines(path, keepends=True))
    dialect: dict[str, Any] = {}
    if ending == ".tsv":
        dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
    reader = csv.reader(lines, strict=True, **dialect)
    rows: list[tuple[int, list[str]]] = []  # with the number of the first line
    number = 1
    try:
        for cells in reader:
            rows += [(number, cells)] if cells else []
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataFormatError(f"{path}:{number}: {error}") from None
    names = [name.strip().lower() for name in rows[0][1]] if rows else []
    has_names = "source" in names and "target" in names
    width = len(names) if has_names else 2
    left, right = (names.index("source"), names.index("target")) if has_names else (0, 1)
    segments = []
    for number, cells in rows[has_names:]:
        if len(cells) != width:
            raise DataFormatError(f"{path}:{number}: expected {width} columns, got {len(cells)}")
        segments.append(
            SegmentPair(f"line {number}", f"{path}:{number}", cells[left], cells[right])
        )

    def write(draft: Path, answers: Answers) -> None:
        added = [list(ADDED)] * has_names + [_cells(answer) for answer in answers]
        with open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", **dialect)
            writer.writerows(cells + new for (_, cells), new in zip(rows, added))

    return Bitext(segments, write=write)


def _cells(answer: Mapping[str, Any]) -> list[str]:
    """The cells of the columns `ADDED`."""
    if "error" in answer:
        return [""] * len(ADDED)
    spans = answer["spans"]
    columns: list[list[Any]] = [
        [span["start"] for span in spans] or [-1],
        [span["end"] for span in spans] or [-1],
        [span.get("severity", "major") for span in spans] or ["no-error"],
        [f"{span['probability']:.4f}" for span in spans],
    ]
    scores = [f"{answer[name]:.4f}" if name in answer else "" for name in ADDED[:2]]
    return [*scores, *(" ".join(map(str, column)) for column in columns)]


# XML. Elements are those of lxml. "{*}" stands for any namespace.


def _parse(path: str) -> Any:
    """The tree of an XML file. Entities are rejected, and nothing outside the file is read."""
    with require_extra("xliff", "a file in XLIFF or TMX"):
        from lxml import etree
    parser = etree.XMLParser(resolve_entities=False, no_network=True, strip_cdata=False)
    with open(path, "rb") as file:
        try:
            tree = etree.parse(file, parser)
        except etree.XMLSyntaxError as error:
            raise DataFormatError(f"{path}:{error.lineno}: expected XML ({error.msg})") from None
        except OSError as error:  # bytes that are not in the encoding
            raise DataFormatError(f"{path}: expected XML ({error})") from None
    for entity in tree.iter(etree.Entity):
        line = entity.getparent().sourceline
        raise DataFormatError(f"{path}:{line}: expected no entities, got {quote(entity.text)}")
    return tree


def _text(element: Any) -> str:
    """The text of an element as a reader sees it; empty for None."""
    if element is None:
        return ""
    text = element.text or ""
    for child in element:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else _COMMENT
        if name in ("x", "ph") and _LINE_BREAKS & {*child.values()}:
            text += "\n"
        elif name not in (*_CODES, _COMMENT):
            text += _text(child)
        text += child.tail or ""
    return text


def _read_xliff(path: str, skip_final: bool) -> Bitext:
    tree = _parse(path)
    root = tree.getroot()
    version = root.get("version", "")[:2]
    if not root.tag.endswith("xliff") or version not in ("1.", "2."):
        got = quote(f"{root.tag} {version}")
        raise DataFormatError(f"{path}:{root.sourceline}: expected XLIFF 1.2 or 2, got {got}")
    pairs = [
        pair
        for pair in (_pairs_of_xliff_1 if version == "1." else _pairs_of_xliff_2)(root)
        if not (skip_final and pair.is_final)
        and pair.unit.xpath("string(ancestor-or-self::*[@translate][1]/@translate)") != "no"
    ]
    segments = [
        SegmentPair(
            f"unit {pair.unit.get('id')}{pair.label}{' (final)' * pair.is_final}",
            f"{path}:{pair.unit.sourceline}",
            pair.source,
            pair.target,
        )
        for pair in pairs
    ]
    head = {**root.attrib, **getattr(root.find("{*}file"), "attrib", {})}
    source_language = head.get("source-language", head.get("srcLang"))
    target_language = head.get("target-language", head.get("trgLang"))

    def write(draft: Path, answers: Answers) -> None:
        _add_notes(root, pairs, answers)
        info = tree.docinfo
        declaration = {"encoding": info.encoding, "standalone": info.standalone or None}
        tree.write(str(draft), xml_declaration=True, **declaration)

    return Bitext(segments, source_language, target_language, write)


class _Pair(NamedTuple):
    """A segment of a unit of XLIFF."""

    unit: Any
    label: str
    """The name within the unit; empty if the unit is one segment."""
    source: str
    target: str
    is_final: bool


def _pairs_of_xliff_1(root: Any) -> Iterator[_Pair]:
    """
    Segments are paired by their `mid`, in the order of the source. A unit is one pair if it is not segmented, if a part
    of its translation is in no segment, or if a `mid` is missing or repeated.
    """
    for unit in root.iter("{*}trans-unit"):
        source, segmented, target = (
            unit.find("{*}" + x) for x in ("source", "seg-source", "target")
        )
        state = "" if target is None else target.get("state")
        is_final = state in _FINAL or unit.get("approved") == "yes"
        sources, targets = _segments_by_mid(segmented), _segments_by_mid(target)
        translated = "".join("".join(targets.values()).split())
        if sources and translated == "".join(_text(target).split()):
            for mid in {**sources, **targets}:
                texts = sources.get(mid, ""), targets.get(mid, "")
                yield _Pair(unit, f", segment {mid}", *texts, is_final)
        else:
            yield _Pair(unit, "", _text(source), _text(target), is_final)


def _segments_by_mid(element: Any) -> dict[str, str]:
    """The texts of the segments in an element, without segments in other segments; empty if a `mid` is not unique."""
    if element is None:
        return {}
    own = "local-name() = 'mrk' and @mtype = 'seg'"
    marks = element.xpath(f"descendant::*[{own}][not(ancestor::*[{own}])]")
    texts = {mark.get("mid"): _text(mark) for mark in marks}
    return {} if None in texts or len(texts) < len(marks) else texts


def _pairs_of_xliff_2(root: Any) -> Iterator[_Pair]:
    """A segment holds its source and its target, whatever the `order` of the targets; `ignorable` text is skipped."""
    for unit in root.iter("{*}unit"):
        segments = unit.findall("{*}segment")
        for number, segment in enumerate(segments, 1):
            label = f", segment {segment.get('id', number)}" if len(segments) > 1 else ""
            source, target = (_text(segment.find("{*}" + side)) for side in ("source", "target"))
            yield _Pair(unit, label, source, target, segment.get("state") in _FINAL)


def _add_notes(root: Any, pairs: Sequence[_Pair], answers: Answers) -> None:
    """Adds a note to each unit, in place of the note of an earlier review."""
    is_1 = root.get("version").startswith("1.")
    own = {"from": "allennlp_nef"} if is_1 else {"category": "quality-estimation"}
    for note in root.findall(".//{*}note"):
        if own.items() <= {*note.items()}:
            note.getparent().remove(note)
    for unit, group in groupby(zip(pairs, answers), key=lambda item: item[0].unit):
        lines = [
            _summary(pair.label.removeprefix(", "), answer)
            for pair, answer in group
            if "error" not in answer
        ]
        if not lines:
            continue
        namespace = unit.tag.removesuffix("unit").removesuffix("trans-")
        applies_to = {"annotates" if is_1 else "appliesTo": "target"}
        note = unit.makeelement(f"{namespace}note", {**own, **applies_to}, unit.nsmap)
        note.text = "\n".join(lines)
        if is_1:
            target = unit.find("{*}target")
            note.tail = target.tail
            unit.insert(unit.index(target) + 1, note)
        else:
            notes = unit.find("{*}notes")
            if notes is None:  # it stands before the data and the segments
                notes = unit.makeelement(f"{namespace}notes", nsmap=unit.nsmap)
                notes.tail = unit.text
                following = ("originalData", "segment", "ignorable")
                first = next(unit.iterchildren(*("{*}" + name for name in following)))
                unit.insert(unit.index(first), notes)
            notes.append(note)


def _summary(label: str, answer: Mapping[str, Any]) -> str:
    """An answer in words, such as "segment 2: predicted HTER 0.42; major error (91%) at 25-30: Tasse"."""
    names = {"hter": "predicted HTER", "expected_bad_share": "expected share of BAD words"}
    parts = [f"{names[name]} {answer[name]:.2f}" for name in names if name in answer]
    for span in answer["spans"]:
        place = f"{span['start']}-{span['end']}: {span['text'] or '(missing)'}"
        kind = f"{span['severity']} error" if "severity" in span else "error"
        parts.append(f"{kind} ({span['probability']:.0%}) at {place}")
    return f"{label}: " * bool(label) + "; ".join(parts)


def _read_tmx(path: str, source: str | None, target: str | None) -> Bitext:
    root = _parse(path).getroot()
    units = []
    for unit in root.iter("{*}tu"):
        sides = unit.findall("{*}tuv")
        texts = {_language_of(side): _text(side.find("{*}seg")) for side in sides}
        if len(texts) < len(sides):
            raise DataFormatError(
                f"{path}:{unit.sourceline}: expected one text per language, got several of one"
            )
        units.append((unit, texts))
    languages = list(dict.fromkeys(code for _, texts in units for code in texts))
    default = root.xpath("string(*[local-name() = 'header']/@srclang)").replace("*all*", "")
    sources = _choose(path, "--source-language", source or default, languages)
    others = [code for code in languages if code not in sources]
    targets = _choose(path, "--target-language", target, others)
    segments = []
    for number, (unit, texts) in enumerate(units, 1):
        pair = [
            next((texts[code] for code in codes if code in texts), "")
            for codes in (sources, targets)
        ]
        segments.append(
            SegmentPair(f"unit {unit.get('tuid', number)}", f"{path}:{unit.sourceline}", *pair)
        )
    return Bitext(segments, sources[0], targets[0])


def _language_of(side: Any) -> str:
    language = side.get("{http://www.w3.org/XML/1998/namespace}lang", side.get("lang", ""))
    return str(language)


def _choose(path: str, option: str, wanted: str | None, languages: Sequence[str]) -> list[str]:
    """The codes of the wanted language and its variants, such as "en" and "en-US"; by default, the only code."""
    prefix = f"{wanted}-".lower()
    chosen = [code for code in languages if not wanted or f"{code}-".lower().startswith(prefix)]
    if not chosen or (not wanted and len(chosen) > 1):
        expected = (
            f"one of {', '.join(languages)}" if languages else "a second language in the file"
        )
        raise DataFormatError(f"{path}: {option}: expected {expected}, got {wanted or 'none'}")
    return chosen
