"""The rules of the `punctuation` tokenizer, which exported taggers also use."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    import tokenizers

# Punctuation and symbols. `\w` lacks the vowel signs of many scripts, so everything else is a letter.
_MARKS = (
    "!-/:-@\\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff\u3001-\u3003\u3008-\u3020\u30fb\uff01-\uff0f"
    "\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u0589\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
)
_LETTER = rf"[^\s{_MARKS}]"
_TOKEN = re.compile(
    rf"""
    (?:https?://|www\.)\S*{_LETTER}/?                                # an address
    | (?:[^\W\d_]\.){{2,}}(?!{_LETTER})                               # U.S.
    | ['’]s(?!{_LETTER})                                             # the end of Lisbon's
    | [@\#]?{_LETTER}+(?:(?:[-‐‑.&/@]|['’](?!s(?!{_LETTER}))|(?<=\d)[,:](?=\d)){_LETTER}+)*
    | ([{_MARKS}])\1*                                               # a mark, or ...
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
