"""XLIFF 1.2 and 2, and the dialects of Trados, memoQ and Phrase."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.segments import Answer, Bitext, decision_of, make_segment, note_of
from allennlp_nef.qe.bitext.xml import parse, text_of, write_xml
from allennlp_nef.qe.translated_sentence import TranslatedSentence

_FINAL = ("final", "signed-off")  # states of translations that should not change
_OWN = "allennlp_nef"  # `from` or `id` of our notes
# The attributes that a decision sets: on a target in XLIFF 1.2, on a segment in XLIFF 2.
_STATES_1 = {"accept": {"state": "signed-off"}, "reject": {"state": "needs-translation"}}
_STATES_2 = {
    "accept": {"state": "reviewed"},
    "reject": {"state": "initial", "subState": f"{_OWN}:rejected"},
}

# The attributes in which tools keep states: patterns of their names, and the values of accepted, rejected, final ones.
_TOOL_STATES = (
    ("conf", "ApprovedSignOff", "RejectedSignOff", ("ApprovedTranslation", "ApprovedSignOff")),
    (r"\{MQXliff\}status", "Proofread", "Rejected", ("Proofread",)),
    (r"\{.*/mxlf/.*\}confirmed", "1", "0", ()),  # Phrase: confirmed translations can be reviewed
)
_LOCKED = {"true": "false", "locked": ""}  # values of `locked`, and what unlocks

_Place = tuple[Any, str, Any, Any]
"""
A segment in its file: the unit, the name of the segment in the unit ("" if there is only one), and the elements with
its state and with that of a tool. These are a target, or in XLIFF 2 a segment, and the unit, or in SDLXLIFF a `seg`.
"""


def read_xliff(path: str, skip_final: bool) -> Bitext:
    """Reads the units of a file, except those marked `translate="no"`."""
    tree = parse(path)
    root = tree.getroot()
    version = root.get("version") or re.sub(r".*:document:", "", root.tag.rpartition("}")[0])
    if root.tag.rpartition("}")[2] != "xliff" or version[:2] not in ("1.", "2."):
        got = f"<{root.tag.rpartition('}')[2]}> with version {version or 'none'}"
        raise DataFormatError(f"{path}:{root.sourceline}: expected XLIFF 1 or 2, got {got}")
    is_1 = version[0] == "1"
    files = root.findall("{*}file") or [root]
    places: list[_Place] = []
    segments: list[TranslatedSentence] = []
    names: Counter[str] = Counter()
    for number, file in enumerate(files, 1):
        original = re.split(r"[/\\]", file.get("original", ""))[-1] or f"file {number}"
        document = original if len(files) > 1 else ""
        languages = _languages(file) if len(files) > 1 else (None, None)
        for place, source, target, is_final in (_pairs_1 if is_1 else _pairs_2)(file):
            unit, label, *_ = place
            translate = unit.xpath("string(ancestor-or-self::*[@translate][1]/@translate)")
            if translate == "no" or (skip_final and is_final):
                continue
            name = ", ".join(filter(None, (document, f"unit {unit.get('id')}", label)))
            names[name] += 1
            name += f" (number {names[name]})" * (names[name] > 1) + " (final)" * is_final
            places.append(place)
            segments.append(
                make_segment(
                    *(name, path, unit.sourceline, source, target),
                    source_language=languages[0],
                    target_language=languages[1],
                    document=document,
                )
            )

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        _annotate(places, segments, answers, is_1)
        write_xml(path, tree, draft)

    return Bitext(segments, *_languages(files[0]), write=write)


def _languages(file: Any) -> tuple[str | None, str | None]:
    """Returns the languages of a `file` element, or in XLIFF 2 of its root."""
    head = {**file.getroottree().getroot().attrib, **file.attrib}
    return (
        head.get("source-language", head.get("srcLang")),
        head.get("target-language", head.get("trgLang")),
    )


def _pairs_1(file: Any) -> Iterator[tuple[_Place, str, str, bool]]:
    """
    Yields the place, source and target of each segment in a file of XLIFF 1, and whether it is final.

    Segments are paired by their `mid`, in the order of the source. A unit is one pair if it is not segmented, if part
    of its translation is outside any segment, or if a `mid` is missing or repeated.
    """
    tags = file.iterfind(".//{*}tag-defs/{*}tag")  # of SDLXLIFF
    contents = {tag.get("id"): "".join(tag.itertext()) for tag in tags}
    for unit in file.iter("{*}trans-unit"):
        source, segmented, target = (
            unit.find("{*}" + x) for x in ("source", "seg-source", "target")
        )
        state = "" if target is None else target.get("state")
        is_final = state in _FINAL or unit.get("approved") == "yes"
        own = {each.get("id"): each for each in unit.iterfind("{*}seg-defs/{*}seg")}
        sources, targets = (_segments_by_mid(side, contents) for side in (segmented, target))
        whole = text_of(target, contents)
        if sources and "".join("".join(targets.values()).split()) == "".join(whole.split()):
            for mid in {**sources, **targets}:
                tool = own.get(mid, unit)
                place = unit, f"segment {mid}", target, tool
                texts = sources.get(mid, ""), targets.get(mid, "")
                yield place, *texts, is_final or _is_final(tool)
        else:
            place = unit, "", target, unit
            yield place, text_of(source, contents), whole, is_final or _is_final(unit)


def _is_final(tool: Any) -> bool:
    """Returns whether a tool's state says that a translation is locked or final."""
    return any(
        value in _LOCKED
        if name.rpartition("}")[2] == "locked"
        else any(value in final and re.fullmatch(key, name) for key, *_, final in _TOOL_STATES)
        for name, value in tool.attrib.items()
    )


def _segments_by_mid(element: Any, contents: Mapping[str, str]) -> dict[str, str]:
    """Returns the texts of an element's segments, without nested ones; empty if a `mid` is missing or repeated."""
    if element is None:
        return {}
    own = "local-name() = 'mrk' and @mtype = 'seg'"
    marks = element.xpath(f"descendant::*[{own}][not(ancestor::*[{own}])]")
    texts = {mark.get("mid"): text_of(mark, contents) for mark in marks}
    return {} if None in texts or len(texts) < len(marks) else texts


def _pairs_2(file: Any) -> Iterator[tuple[_Place, str, str, bool]]:
    """
    Yields the place, source and target of each segment in a file of XLIFF 2, and whether it is final. The `order` of
    targets and `ignorable` text are ignored.
    """
    for unit in file.iter("{*}unit"):
        data = unit.iterfind("{*}originalData/{*}data")
        contents = {each.get("id"): "".join(each.itertext()) for each in data}
        segments = unit.findall("{*}segment")
        for number, segment in enumerate(segments, 1):
            label = f"segment {segment.get('id', number)}" if len(segments) > 1 else ""
            source, target = (
                text_of(segment.find("{*}" + side), contents) for side in ("source", "target")
            )
            place = unit, label, segment, unit
            yield place, source, target, segment.get("state") in _FINAL


def _annotate(
    places: Sequence[_Place],
    segments: Sequence[TranslatedSentence],
    answers: Iterable[Answer | None],
    is_1: bool,
) -> None:
    """Adds a note to each unit, replacing any from an earlier review, and sets the states according to decisions."""
    if is_1:
        own = {"from": _OWN, "annotates": "target"}
    else:
        own = {"id": _OWN, "category": "quality-estimation", "appliesTo": "target"}
    items = zip(places, segments, answers)
    for unit, of_unit in groupby(items, key=lambda item: item[0][0]):
        group = list(of_unit)
        lines = [
            ": ".join(filter(None, (label, text)))
            for (_, label, *_), segment, answer in group
            if (text := note_of(segment, answer))
        ]
        for holder, parts in groupby(group, key=lambda item: item[0][2]):
            _set_state(unit, holder, decision_of(item[1] for item in parts), is_1)
        for tool, parts in groupby(group, key=lambda item: item[0][3]):
            _set_tool_state(tool, decision_of(item[1] for item in parts))
        for note in unit.findall("{*}note") if is_1 else unit.findall("{*}notes/{*}note"):
            if _OWN in (note.get("from"), note.get("id")):
                note.getparent().remove(note)
        notes = unit.find("{*}notes")
        if lines:
            namespace = unit.tag.removesuffix("unit").removesuffix("trans-")
            note = unit.makeelement(f"{namespace}note", own, unit.nsmap)
            note.text = "\n".join(lines)
            if is_1:
                texts = list(unit.iterchildren("{*}source", "{*}seg-source", "{*}target"))
                note.tail = texts[-1].tail if texts else unit.text
                unit.insert(unit.index(texts[-1]) + 1 if texts else 0, note)
            else:
                if notes is None:  # before the data and the segments
                    notes = unit.makeelement(f"{namespace}notes", nsmap=unit.nsmap)
                    notes.tail = unit.text
                    following = ("originalData", "segment", "ignorable")
                    first = next(unit.iterchildren(*("{*}" + name for name in following)))
                    unit.insert(unit.index(first), notes)
                notes.append(note)
        elif notes is not None and not len(notes):
            unit.remove(notes)  # XLIFF 2 allows no empty notes


def _set_state(unit: Any, holder: Any, decision: str | None, is_1: bool) -> None:
    """Sets the state of a unit's target or segment; see `decision_of`."""
    if decision is None:
        return
    if is_1:
        unit.set("approved", "yes" if decision == "accept" else "no")
    if holder is not None and (decision == "reject" or holder.get("state") not in _FINAL):
        holder.attrib.pop("state-qualifier" if is_1 else "subState", None)
        holder.attrib.update((_STATES_1 if is_1 else _STATES_2)[decision])


def _set_tool_state(tool: Any, decision: str | None) -> None:
    """Sets the state that a tool keeps; rejected translations are unlocked."""
    if decision is None:
        return
    if tool.tag.endswith("}seg"):
        tool.set("conf", tool.get("conf", ""))
    for name, value in tool.attrib.items():
        for key, accepted, rejected, _ in _TOOL_STATES:
            if re.fullmatch(key, name):
                tool.set(name, accepted if decision == "accept" else rejected)
        if name.rpartition("}")[2] == "locked" and value in _LOCKED and decision == "reject":
            tool.set(name, _LOCKED[value])
