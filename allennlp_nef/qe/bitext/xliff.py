"""XLIFF 1.2 and 2, and the dialects of Trados, memoQ and Phrase."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.segments import Answer, Bitext, decision_of, make_segment, note_of
from allennlp_nef.qe.bitext.xml import Side, parse, text_of, write_xml
from allennlp_nef.qe.translated_sentence import TranslatedSentence

_OWN = "allennlp_nef"  # `from` or `id` of our notes
_PHRASE = "{http://www.memsource.com/mxlf/2.0}"
# The elements and attributes with states, and the values of accepted, rejected and final translations. Unlike those of
# XLIFF and Trados, the attributes of memoQ and Phrase are not added. Confirmed translations of Phrase can be reviewed.
_STATES: tuple[tuple[str, str, str | None, str, tuple[str, ...]], ...] = (
    ("trans-unit", "approved", "yes", "no", ("yes",)),
    ("target", "state", "signed-off", "needs-translation", ("final", "signed-off")),
    ("segment", "state", "reviewed", "initial", ("final",)),
    ("seg", "conf", "ApprovedSignOff", "RejectedSignOff", ("ApprovedTranslation", "ApprovedSignOff")),
    ("seg", "locked", None, "false", ("true",)),
    ("trans-unit", "{MQXliff}status", "Proofread", "Rejected", ("Proofread",)),
    ("trans-unit", "{MQXliff}locked", None, "", ("locked", "true")),
    ("trans-unit", f"{_PHRASE}confirmed", "1", "0", ()),
    ("trans-unit", f"{_PHRASE}locked", None, "false", ("true",)),
)  # fmt: skip
_Place = tuple[Any, str, Any]
"""
A segment in its file: the unit, the name of the segment in the unit ("" if there is only one), and the element with
its own state, a `segment` of XLIFF 2 or a `seg` of SDLXLIFF, or None.
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
        languages = _languages(file) if len(files) > 1 else {}
        for place, source, target in (_pairs_1 if is_1 else _pairs_2)(file):
            unit, label, own = place
            states = map(_states, (unit, unit.find("{*}target"), own))
            is_final = any(is_final for *_, is_final in chain(*states))
            translate = unit.xpath("string(ancestor-or-self::*[@translate][1]/@translate)")
            if translate == "no" or (skip_final and is_final):
                continue
            name = ", ".join(filter(None, (document, f"unit {unit.get('id')}", label)))
            names[name] += 1
            name += f" (number {names[name]})" * (names[name] > 1) + " (final)" * is_final
            places.append(place)
            texts, codes = (source[0], target[0]), (source[1], target[1])
            fields = {"document": document, "codes": codes, **languages}
            segments.append(make_segment(name, path, unit.sourceline, *texts, **fields))

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        items = zip(places, segments, answers)
        for unit, of_unit in groupby(items, key=lambda item: item[0][0]):
            group = list(of_unit)
            for (_, _, own), segment, _ in group:
                _set_state(own, segment.decision)
            decision = decision_of(segment for _, segment, _ in group)
            for element in (unit, unit.find("{*}target")):
                _set_state(element, decision)
            notes = [(label, note_of(segment, answer)) for (_, label, _), segment, answer in group]
            text = "\n".join(": ".join(filter(None, each)) for each in notes if each[1])
            _set_note(unit, text, is_1)
        write_xml(path, tree, draft)

    return Bitext(segments, **_languages(files[0]), write=write)


def _languages(file: Any) -> dict[str, Any]:
    """Returns the languages of a `file` element, or in XLIFF 2 of its root."""
    head = {**file.getroottree().getroot().attrib, **file.attrib}
    return {
        "source_language": head.get("source-language", head.get("srcLang")),
        "target_language": head.get("target-language", head.get("trgLang")),
    }


def _pairs_1(file: Any) -> Iterator[tuple[_Place, Side, Side]]:
    """
    Yields the place, source and target of each segment in a file of XLIFF 1.

    Segments are paired by their `mid`, in the order of the source. A unit is one pair if it is not segmented, if part
    of its translation is outside any segment, or if a `mid` is missing or repeated.
    """
    contents = _contents(file, "{*}tag-defs/{*}tag")  # of SDLXLIFF
    for unit in file.iter("{*}trans-unit"):
        names = ("{*}source", "{*}seg-source", "{*}target")
        source, segmented, target = map(unit.find, names)
        states = {each.get("id"): each for each in unit.iterfind("{*}seg-defs/{*}seg")}
        sources, targets = (_segments_by_mid(side, contents) for side in (segmented, target))
        whole = text_of(target, contents)
        joined = "".join(text for text, _ in targets.values())
        if sources and "".join(joined.split()) == "".join(whole[0].split()):
            for mid in {**sources, **targets}:
                place = unit, f"segment {mid}", states.get(mid)
                yield place, sources.get(mid, ("", ())), targets.get(mid, ("", ()))
        else:
            yield (unit, "", None), text_of(source, contents), whole


def _contents(element: Any, name: str) -> dict[str, str]:
    """Returns the contents of codes that are stored in elements with this name, by their ids."""
    found = element.iterfind(f".//{name}")
    return {each.get("id"): "".join(each.itertext()) for each in found}


def _segments_by_mid(element: Any, contents: Mapping[str, str]) -> dict[str, Side]:
    """Returns the texts of an element's segments, without nested ones; empty if a `mid` is missing or repeated."""
    if element is None:
        return {}
    own = "local-name() = 'mrk' and @mtype = 'seg'"
    marks = element.xpath(f"descendant::*[{own}][not(ancestor::*[{own}])]")
    texts = {mark.get("mid"): text_of(mark, contents) for mark in marks}
    return {} if None in texts or len(texts) < len(marks) else texts


def _pairs_2(file: Any) -> Iterator[tuple[_Place, Side, Side]]:
    """Yields the place, source and target of each segment in a file of XLIFF 2. The `order` of targets and `ignorable`
    text are ignored."""
    for unit in file.iter("{*}unit"):
        contents = _contents(unit, "{*}originalData/{*}data")
        segments = unit.findall("{*}segment")
        for number, segment in enumerate(segments, 1):
            label = f"segment {segment.get('id', number)}" if len(segments) > 1 else ""
            sides = (segment.find("{*}source"), segment.find("{*}target"))
            source, target = (text_of(side, contents) for side in sides)
            yield (unit, label, segment), source, target


def _set_note(unit: Any, text: str, is_1: bool) -> None:
    """Replaces our note of a unit, or removes it if the text is empty. It is after the texts in XLIFF 1, and among the
    other notes in XLIFF 2."""

    def element(name: str, **attributes: str) -> Any:
        return unit.makeelement(re.sub("(trans-)?unit$", name, unit.tag), attributes, unit.nsmap)

    for old in unit.xpath("(. | *)/*[local-name() = 'note'][@from = $own or @id = $own]", own=_OWN):
        old.getparent().remove(old)
    notes = unit.find("{*}notes")
    if text and is_1:
        note = element("note", **{"from": _OWN}, annotates="target")
        texts = list(unit.iterchildren("{*}source", "{*}seg-source", "{*}target"))
        note.text, note.tail = text, texts[-1].tail if texts else unit.text
        unit.insert(unit.index(texts[-1]) + 1 if texts else 0, note)
    elif text:
        if notes is None:  # before the data and the segments
            notes = element("notes")
            notes.tail = unit.text
            first = next(unit.iterchildren("{*}originalData", "{*}segment", "{*}ignorable"))
            unit.insert(unit.index(first), notes)
        notes.append(element("note", id=_OWN, category="quality-estimation", appliesTo="target"))
        notes[-1].text = text
    elif notes is not None and not len(notes):
        unit.remove(notes)  # XLIFF 2 allows no empty notes


def _states(element: Any) -> list[tuple[str, str | None, str, bool]]:
    """Returns the attributes with the state of an element, or of None: their names, their values for accepted and
    rejected translations, and whether their own is final."""
    if element is None:
        return []
    return [
        (name, accepted, rejected, element.get(name) in final)
        for tag, name, accepted, rejected, final in _STATES
        if tag == element.tag.rpartition("}")[2]
        and (name in ("approved", "state", "conf") or name in element.attrib)
    ]


def _set_state(element: Any, decision: str | None) -> None:
    """Sets the state of an element, or of None; see `decision_of`. Accepted translations stay final or locked."""
    for name, accepted, rejected, is_final in _states(element) if decision else ():
        if decision == "reject" or not (is_final or accepted is None):
            for detail in ("state-qualifier", "subState") if name == "state" else ():
                element.attrib.pop(detail, None)
            element.set(name, rejected if decision == "reject" else accepted)
    if decision == "reject" and element is not None and element.tag.endswith("segment"):
        element.set("subState", f"{_OWN}:rejected")
