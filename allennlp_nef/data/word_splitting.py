"""The rules of the `punctuation` tokenizer, which exported taggers also use."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import tokenizers

_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff"
# Punctuation and symbols. `\w` lacks the vowel signs of many scripts, so everything else is a letter.
_MARKS = (
    "!-/:-@\\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff\u3001-\u3003\u3008-\u3020\u30fb\uff01-\uff0f"
    "\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u0589\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    "\U0001f000-\U0001faff"
)
_LETTER = rf"[^\s{_MARKS}]"
_CAPITAL = "A-ZÀ-ÖØ-Þ"
_END = rf"(?!{_LETTER})"

# Words that lose their last vowel before another word: those in the dev sets of Universal Dependencies (2025) in French
# (GSD, Sequoia), Italian (ISDT, PoSTWITA), Occitan (TTB), Irish (IDT) and English (EWT, GUM), and rarer ones.
_ELIDED = (
    "b|c|d|j|l|m|n|s|t|y|qu|jusqu|lorsqu|puisqu|quoiqu"
    "|all|coll|dall|dell|nell|sull|un|quest|quell|nessun|alcun|ciascun"
    "|anch|bell|com|cos|dov|gl|mezz|quand|quant|senz|tutt|dh|mb|ns|vs"
)
# Names such as D'Alema and N'Dour, which are more frequent than elisions, and what the treebanks keep whole.
_NOT_ELIDED = (
    rf"[BCDMNST]['’][{_CAPITAL}][^\W{_CAPITAL}]"
    rf"|(?i:l['’]on|c['’]est-à-dire|c['’]mon){_END}|(?i:c['’]h)"
)
_CLITIC = rf"['’](?i:s|re|ve|ll|d|m){_END}"
_NOT = rf"(?i:n['’]t){_END}"
# A few of the abbreviations in the same dev sets, and initials.
_ABBREVIATION = (
    "Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Jr|Mt|Lt|Col|Gen|Sen|Gov|Rev|Inc|Ltd|Co|Corp|vs|nr|pp"
    rf"|[{_CAPITAL}]"
)
_PART = rf"(?:(?!{_NOT}){_LETTER})+"
# Linear in the length: the next alternative reads again what another has read in vain, so most have a maximum length.
_TOKEN = re.compile(
    rf"""
    # Addresses
    (?: (?:https?|ftp):// | www\. | (?:[a-zA-Z0-9-]{{1,63}}\.){{1,9}}[a-z]{{2,24}}/ )\S*{_LETTER}/?
    | [\w.+-]{{1,64}}@[\w-]+(?:\.[\w-]+)+
    # Placeholders: %d, %1$s, %(name)s, {{0}}, ${{x}}
    | (?<!\d)%(?:\(\w+\)|\d{{1,2}}\$)?[-+\#0]{{0,3}}\d{{0,3}}(?:\.\d{{1,3}})?l{{0,2}}[@cdefgiosux]{_END}
    | [$%\#]?\{{\{{?[\w.:!-]*\}}\}}?
    # Emoji and emoticons
    | [{_EMOJI}][{_EMOJI}\u200d\ufe0f\u20e3\U000e0020-\U000e007f]*
    | [{_MARKS}]\ufe0f | [*\#\d]\ufe0f?\u20e3
    | (?<!\S)(?: [:;=]['’]?-?[][()|*/\\DPpOo3]+ | </?3 | \^[_.-]?\^ | -_- )(?![^\s.,!?])
    # U.S., Dr., J. Smith
    | (?:[^\W\d_]\.){{2,}}{_END} | (?:{_ABBREVIATION})\.(?=\s+{_LETTER})
    # 5'11", 1990's, '90s
    | \d+['’]\d+(?:["”]|''|{_END}) | \d*0['’]s{_END} | ['’]\d\ds?(?![\w'’])
    # English and Dutch: 's-Hertogenbosch; 'em, 't; the ends of Lisbon's and don't; cannot
    | (?<!\w)['’]s-[{_CAPITAL}]{_PART}
    | (?i:['’](?:em|n|t|til|tis|twas))(?!{_LETTER}|['’])
    | {_CLITIC} | {_NOT}
    | (?i: can(?=not{_END}) | (?:gon|wan)(?=na{_END}) )
    # The start of l'homme; with a blank, also l' homme and po' di
    | (?=\w{{1,7}}['’])(?!{_NOT_ELIDED})(?i:{_ELIDED})(?!{_CLITIC})['’](?=["«“„(]|{_LETTER})
    | (?i:d|e|l|po|qu)['’](?=\s)
    # Words
    | [@\#]?{_PART}(?:(?: [-‐‑.&@] | (?!{_CLITIC})['’] | (?<=\d)[,:/](?=\d) ){_PART})*
    # Marks
    | [!?]+ | ([{_MARKS}])\1*
    """,
    re.VERBOSE,
)
_HAN_AND_KANA = (
    "\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_OR_OTHERS = re.compile(f"[{_HAN_AND_KANA}]|[^{_HAN_AND_KANA}]+")
# Thai, Lao, Burmese and Khmer do not separate words, either.
_UNSPACED = _HAN_AND_KANA + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED_OR_OTHERS = re.compile(f"([{_UNSPACED}]+)|[^{_UNSPACED}]+")


def split_punctuation(
    text: str, split_cjk: bool = False, pieces: Optional["tokenizers.Tokenizer"] = None
) -> list[tuple[int, int]]:
    """Returns the start and end of each token in a text. For rules and options, see `PunctuationTokenizer`."""
    spans = [match.span() for match in _TOKEN.finditer(text)]
    if split_cjk:
        spans = [m.span() for span in spans for m in _CJK_OR_OTHERS.finditer(text, *span)]
    if pieces is None:
        return spans
    runs = (run for span in spans for run in _UNSPACED_OR_OTHERS.finditer(text, *span))
    return [piece for run in runs for piece in _pieces_of(run, pieces)]


def _pieces_of(run: re.Match[str], pieces: "tokenizers.Tokenizer") -> Iterator[tuple[int, int]]:
    """Returns the offsets of the pieces in a run of characters, or those of the whole run."""
    start, end = run.span()
    offsets = pieces.encode(run[1], add_special_tokens=False).offsets if run[1] else []
    return pairwise(sorted({start, *(start + first for first, _ in offsets), end}))
