"""TMX, the exchange format for translation memories."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.languages import base_language
from allennlp_nef.qe.bitext.segments import Answer, Bitext, make_segment, note_of
from allennlp_nef.qe.bitext.xml import parse, text_of, write_xml

_OWN = "x-allennlp_nef"  # the type of our properties


def read_tmx(path: str, source: str | None, target: str | None) -> Bitext:
    """Reads a pair of languages from a file. The source language defaults to that of the header."""
    tree = parse(path)
    root = tree.getroot()
    units = [(unit, unit.findall("{*}tuv")) for unit in root.iter("{*}tu")]
    # The language codes of the file, by their normalized spelling.
    languages = {_language_of(side): _code_of(side) for _, sides in units for side in sides}
    default = root.xpath("string(*[local-name() = 'header']/@srclang)").replace("*all*", "")
    sources = _choose(path, "--source-language", source or default, languages)
    others = {key: code for key, code in languages.items() if key not in sources}
    targets = _choose(path, "--target-language", target, others)
    segments, translations = [], []
    for number, (unit, sides) in enumerate(units, 1):
        name = f"unit {unit.get('tuid', number)}"
        found: list[list[Any]] = []
        for codes in (sources, targets):
            # The first of the codes that the unit has: "en" and "en-US" are versions of one text.
            code = next((code for code in codes if code in map(_language_of, sides)), None)
            found.append([side for side in sides if _language_of(side) == code])
        several = next((side for side in found if len(side) > 1), None)
        left, right = (text_of(side[0].find("{*}seg") if side else None) for side in found)
        error = f"several texts in {_language_of(several[0])}" if several else None
        fields = {"error": error, "codes": (left[1], right[1])}
        segments.append(make_segment(name, path, unit.sourceline, left[0], right[0], **fields))
        translations.append(found[1][:1])

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        for sides, segment, answer in zip(translations, segments, answers):
            for side in sides:
                for old in side.findall("{*}prop"):
                    if old.get("type") == _OWN:
                        side.remove(old)
                if text := note_of(segment, answer):
                    new = side.makeelement(side.tag.replace("tuv", "prop"), {"type": _OWN})
                    new.text, new.tail = text, side.text
                    side.insert(0, new)
        write_xml(path, tree, draft)

    return Bitext(segments, languages[sources[0]], languages[targets[0]], write)


def _code_of(side: Any) -> str:
    return str(side.get("{http://www.w3.org/XML/1998/namespace}lang", side.get("lang", "")))


def _language_of(side: Any) -> str:
    """Returns the normalized language code of a text, such as "en-us" for "EN_US"."""
    return _code_of(side).replace("_", "-").lower()


def _choose(path: str, option: str, wanted: str | None, languages: Mapping[str, str]) -> list[str]:
    """
    Returns the codes in the file that match the requested language; by default, the only code.

    These are the language and its variants, such as "en" and "en-us" for "en"; if there are none, other codes for the
    same language, such as "he" for "iw"; and if there are none of these, the language without a variant, such as "en"
    for "en-us".
    """
    code = (wanted or "").replace("_", "-").lower()
    same = [other for other in languages if base_language(other) == base_language(code)]
    chosen = (
        [other for other in languages if not wanted or f"{other}-".startswith(f"{code}-")]
        or [other for other in same if "-" not in code]
        or [other for other in same if "-" not in other]
    )
    if not chosen or (not wanted and len(chosen) > 1):
        expected = (
            f"one of {', '.join(languages.values())}"
            if languages
            else "a second language in the file"
        )
        raise DataFormatError(f"{path}: {option}: expected {expected}, got {wanted or 'none'}")
    return chosen
