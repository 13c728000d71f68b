"""TMX, the exchange format of translation memories."""

from collections.abc import Sequence
from typing import Any

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.base import Bitext, SegmentPair
from allennlp_nef.qe.bitext.xml import parse, text_of


def read_tmx(path: str, source: str | None, target: str | None) -> Bitext:
    root = parse(path).getroot()
    units = []
    for unit in root.iter("{*}tu"):
        sides = unit.findall("{*}tuv")
        texts = {_language_of(side): text_of(side.find("{*}seg")) for side in sides}
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
