"""XLIFF 1.2 and 2."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.base import Answers, Bitext, SegmentPair
from allennlp_nef.qe.bitext.xml import parse, text_of

_FINAL = ("final", "signed-off")  # states of translations that nobody is to change


def read_xliff(path: str, skip_final: bool) -> Bitext:
    tree = parse(path)
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
        if sources and translated == "".join(text_of(target).split()):
            for mid in {**sources, **targets}:
                texts = sources.get(mid, ""), targets.get(mid, "")
                yield _Pair(unit, f", segment {mid}", *texts, is_final)
        else:
            yield _Pair(unit, "", text_of(source), text_of(target), is_final)


def _segments_by_mid(element: Any) -> dict[str, str]:
    """The texts of the segments in an element, without segments in other segments; empty if a `mid` is not unique."""
    if element is None:
        return {}
    own = "local-name() = 'mrk' and @mtype = 'seg'"
    marks = element.xpath(f"descendant::*[{own}][not(ancestor::*[{own}])]")
    texts = {mark.get("mid"): text_of(mark) for mark in marks}
    return {} if None in texts or len(texts) < len(marks) else texts


def _pairs_of_xliff_2(root: Any) -> Iterator[_Pair]:
    """A segment holds its source and its target, whatever the `order` of the targets; `ignorable` text is skipped."""
    for unit in root.iter("{*}unit"):
        segments = unit.findall("{*}segment")
        for number, segment in enumerate(segments, 1):
            label = f", segment {segment.get('id', number)}" if len(segments) > 1 else ""
            source, target = (text_of(segment.find("{*}" + side)) for side in ("source", "target"))
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
