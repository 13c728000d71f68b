"""
The characters that labels and words may have: one set of rules for all readers, the files of `score-tags` and requests.

| characters | in a label | in a word |
|---|---|---|
| control characters: U+0000 to U+001F and U+007F | refused | refused |
| line separators: U+0085, U+2028, U+2029, and those among the control characters | refused | refused |
| byte order marks U+FEFF, surrogates that are not in pairs | refused | refused |
| a blank at either end | refused | refused |
| a blank between others, other whitespace such as no-break spaces | refused | kept |
| format characters such as U+200B, joiners, direction marks, soft hyphens; variation selectors | refused | kept |
| traces of a wrong encoding: U+0080 to U+009F, U+FFFD, U+FFFE, U+FFFF | refused | kept, counted in a warning |
| no visible character: nothing but whitespace and format characters | refused | kept, counted in a warning |
| all others | kept | kept |

Nothing is changed: letters stay composed or decomposed (NFC or NFD) as they came. A word or a label is never empty.

In columns, blanks and tabs separate words; in CoNLL-U, tabs do. In lines of words and in the sentences of requests any
whitespace does, as for `str.split`: no-break spaces and line separators too. A warning counts such lines of a file.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote

Where = str | Callable[[int], str]
"""The beginning of a message, such as `file:line`; or what gives it for a word or a label, by its index."""

_REFUSED = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]|^ | \\Z")
_DAMAGED = re.compile("[\x80-\x9f\ufffd-\uffff]")
_OTHER_WHITESPACE = re.compile(r"[^\S \t\r\n]")
# Invisible, though in categories of letters and marks.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_ODD = re.compile(_INVISIBLE.pattern[:-1] + "\ufffd]")
_LABEL_WITHOUT = ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")


def in_lines(path: object, lines: Sequence[int]) -> Where:
    """The places of words that stand in these lines of a file."""
    return lambda index: f"{path}:{lines[index]}"


class RefusedWord(NamedTuple):
    """A word that no reader takes."""

    position: int
    """From 0."""
    reason: str
    """Such as `expected a word without control characters, got ...`."""


def name_of_character(character: str) -> str:
    """Such as `U+200B ZERO WIDTH SPACE`."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".strip()


def refused_word(words: Sequence[str]) -> RefusedWord | None:
    """The first word that is empty, or has a character that no word may have; None where there is none."""
    text = " ".join(words)
    is_plain = text.isprintable() and "  " not in text and text[:1] != " " != text[-1:]
    if is_plain and text:
        return None
    for index, word in enumerate(words):
        if not word:
            return RefusedWord(index, "expected a word, got an empty one")
        match = _REFUSED.search(word)
        if match:
            expected = "blanks at its ends" if match.group() == " " else _kind_of(match.group())
            got = name_of_character(match.group())
            return RefusedWord(
                index, f"expected a word without {expected}, got {quote(word)} with {got}"
            )
    return None


def check_words(words: Sequence[str], where: Where) -> None:
    """Raises a `DataFormatError` for the `refused_word` of some words."""
    refused = refused_word(words)
    if refused:
        raise DataFormatError(f"{_place(where, refused.position)}: {refused.reason}")


def check_labels(labels: Sequence[str], where: Where) -> None:
    """Raises a `DataFormatError` for the first label that is empty, or has a character that no label may have."""
    for index, label in enumerate(labels):
        # The cache would keep labels of requests, whose length has no limit.
        check = _refused_label if len(label) < 64 else _refused_label.__wrapped__
        reason = check(label)
        if reason:
            raise DataFormatError(f"{_place(where, index)}: {reason}")


class OddCharacters:
    """Counts what the readers keep though something may be wrong with it."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def check(self, words: Sequence[str], where: Where) -> None:
        """Counts the odd words. Raises the `DataFormatError` of `check_words`."""
        check_words(words, where)
        text = " ".join(words)
        if text.isprintable() and (text.isascii() or not _ODD.search(text)):
            return
        for index, word in enumerate(words):
            match = _DAMAGED.search(word)
            if match:
                kind, character = "a word with {}, a trace of a wrong encoding", match.group()
            elif not is_visible(word):
                kind, character = "a word without a visible character, {}", word[0]
            else:
                continue
            self._add(kind, character, _place(where, index))

    def check_line(self, line: str, place: str) -> None:
        """Counts a line whose words are separated by other whitespace than blanks and tabs."""
        separator = other_separator(line)
        if separator:
            self._add("{} separates words", separator, place)

    def _add(self, kind: str, character: str, place: str) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self._first.setdefault(kind, f"{place}: {kind.format(name_of_character(character))}")

    def warn(self, warn: Callable[..., None]) -> None:
        """Hands a message and its values to a function: what was counted, each kind with its first place."""
        if self._counts:
            found = (
                f"{first} (the first of {self._counts[kind]})"
                for kind, first in self._first.items()
            )
            warn("Odd characters: %s.", "; ".join(found))


def other_separator(line: str) -> str | None:
    """The first whitespace in a line that is neither a blank nor a tab; None where there is none."""
    match = None if line.isprintable() else _OTHER_WHITESPACE.search(line)
    return match.group() if match else None


def is_odd(character: str) -> bool:
    """Whether a character is invisible, whitespace other than a blank, a trace of a wrong encoding, or unknown."""
    return not character.isprintable() or bool(_ODD.match(character))


def is_visible(word: str) -> bool:
    """Whether a word has a character that can be seen."""
    return any(
        unicodedata.category(c) not in _LABEL_WITHOUT and not _INVISIBLE.match(c) for c in word
    )


def _place(where: Where, index: int) -> str:
    return where if isinstance(where, str) else where(index)


def _kind_of(character: str) -> str:
    if character == "\ufeff":
        return "byte order marks"
    if unicodedata.category(character) == "Cs":
        return "surrogates that are not in pairs"
    return "control characters and line separators"


@lru_cache(maxsize=2**12)
def _refused_label(label: str) -> str | None:
    """What is expected of a label, and what came; None where the label is right."""
    if not label:
        return "expected a label, got an empty one"
    for character in label:
        if (
            unicodedata.category(character) in _LABEL_WITHOUT
            or _INVISIBLE.match(character)
            or _DAMAGED.match(character)
        ):
            got = name_of_character(character)
            return f"expected a label without whitespace and invisible characters, got {quote(label)} with {got}"
    return None
