"""
The words of a text: where they stand, and which characters they and their labels may have. One set of rules for all
readers, the files of `score-tags` and requests.

A word may have every character but those that would break the lines of a file: tabs, line separators (those of
`str.splitlines`, such as U+2028), blanks at its ends, and surrogates that are not in pairs, which no encoding has.
Nothing is changed or left out. A U+FEFF is a byte order mark at the start of a file alone. What one would not see is
counted in one warning for each file: control characters, U+FEFF, traces of a wrong encoding (U+0080 to U+009F, U+FFFD
to U+FFFF), and words of nothing but invisible characters. A label has printable characters, and no whitespace. Neither
is empty.

In columns, blanks and tabs separate words; in CoNLL-U, tabs do. In lines of words and in the sentences of requests any
whitespace does, as for `str.split`: no-break spaces and line separators too. The warning counts such lines.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote

Where = str | Callable[[int], str]
"""The beginning of a message, such as `file:line`; or what gives it for a word or a label, by its index."""

_REFUSED = re.compile("[\t-\r\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]|^ | \\Z")
_COUNTED = re.compile("[\x00-\x1f\x7f-\x9f\ufeff\ufffd-\uffff]")
_OTHER_WHITESPACE = re.compile(r"[^\S \t\r\n]")


class SplitText(NamedTuple):
    """A text and its words."""

    text: str
    words: list[str]
    offsets: list[tuple[int, int]]
    """The start and the end of each word, in characters from 0. The end is the character after it."""


Split = Callable[[str], SplitText]
SplitWords = Callable[[str], list[str]]
"""What splits a sentence, where the places of its words are not needed."""


def split_on_whitespace(text: str) -> SplitText:
    """The words of a text that `str.split` gives."""
    matches = list(re.finditer(r"\S+", text))
    return SplitText(text, [m.group() for m in matches], [m.span() for m in matches])


def find_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The start and the end of each word of a text. Raises `DataFormatError` for a word that does not follow in it."""
    offsets, end = [], 0
    for number, word in enumerate(words):
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            raise DataFormatError(
                f"words: expected a word that the text has next, {quote(text[end:].strip())}, "
                f"got {quote(word)} as word {number}"
            )
        end = start + len(word)
        offsets.append((start, end))
    return offsets


def in_lines(path: object, lines: Sequence[int]) -> Where:
    """The places of words that stand in these lines of a file."""
    return lambda index: f"{path}:{lines[index]}"


class RefusedWord(NamedTuple):
    """A word that no reader takes."""

    position: int
    """From 0."""
    reason: str
    """Such as `expected a word without line separators and tabs, got ...`."""


def refused_word(words: Sequence[str]) -> RefusedWord | None:
    """The first word that is empty, or has a character that no word may have; None where there is none."""
    text = " ".join(words)
    if text.isprintable() and "  " not in text and text[:1] != " " != text[-1:] and text:
        return None  # most sentences
    for index, word in enumerate(words):
        if not word:
            return RefusedWord(index, "expected a word, got an empty one")
        match = _REFUSED.search(word)
        if match:
            character = match.group()
            expected = "line separators and tabs"
            if character == " ":
                expected = "blanks at its ends"
            elif unicodedata.category(character) == "Cs":
                expected = "surrogates that are not in pairs"
            got = f"{quote(word)} with {name_of_character(character)}"
            return RefusedWord(index, f"expected a word without {expected}, got {got}")
    return None


def check_words(words: Sequence[str], where: Where) -> None:
    """Raises a `DataFormatError` for the `refused_word` of some words."""
    refused = refused_word(words)
    if refused:
        raise DataFormatError(f"{_place(where, refused.position)}: {refused.reason}")


def check_labels(labels: Sequence[str], where: Where) -> None:
    """Raises a `DataFormatError` for the first label that is empty, or has a character that no label may have."""
    for index, label in enumerate(labels):
        if not label:
            raise DataFormatError(f"{_place(where, index)}: expected a label, got an empty one")
        if not label.isprintable() or " " in label:
            character = next(c for c in label if c == " " or not c.isprintable())
            raise DataFormatError(
                f"{_place(where, index)}: expected a label without whitespace and invisible characters, got "
                f"{quote(label)} with {name_of_character(character)}"
            )


class OddCharacters:
    """Counts the characters of a file that the readers keep though something may be wrong with them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def check(self, words: Sequence[str], where: Where) -> None:
        """Counts the odd characters of words. Raises the `DataFormatError` of `check_words`."""
        check_words(words, where)
        text = " ".join(words)
        if text.isprintable() and "\ufffd" not in text:
            return
        for index, word in enumerate(words):
            is_visible = any(map(str.isprintable, word))
            for character in _COUNTED.findall(word) or word[: not is_visible]:
                self._add(f"{name_of_character(character)} in a word", _place(where, index))

    def check_line(self, line: str, place: str) -> None:
        """Counts a line whose words are separated by other whitespace than blanks and tabs."""
        separator = other_separator(line)
        if separator:
            self._add(f"{name_of_character(separator)} separates words", place)

    def _add(self, what: str, place: str) -> None:
        self._counts[what] += 1
        self._first.setdefault(what, place)

    def warn(self, warn: Callable[..., None]) -> None:
        """Hands a message and its values to a function: what was counted, each kind with its first place."""
        kinds = [
            f"{place}: {what} (the first of {self._counts[what]})"
            for what, place in self._first.items()
        ]
        if kinds:
            warn("Odd characters: %s.", "; ".join(kinds))


def name_of_character(character: str) -> str:
    """Such as `U+200B ZERO WIDTH SPACE`."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def other_separator(line: str) -> str | None:
    """The first whitespace in a line that is neither a blank nor a tab; None where there is none."""
    match = None if line.isprintable() else _OTHER_WHITESPACE.search(line)
    return match.group() if match else None


def is_odd(character: str) -> bool:
    """Whether a character is invisible, whitespace other than a blank, a trace of a wrong encoding, or unknown."""
    return not character.isprintable() or character == "\ufffd"


def _place(where: Where, index: int) -> str:
    return where if isinstance(where, str) else where(index)
