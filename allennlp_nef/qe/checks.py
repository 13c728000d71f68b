"""Rule-based checks that find mistakes in a translation without a model, as in translation tools."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import groupby, product
from typing import NamedTuple

from allennlp_nef.data.word_splitting import split_punctuation


class Finding(NamedTuple):
    """A mistake in the target, with its character offsets. They are equal if something is missing."""

    kind: str
    start: int
    end: int
    message: str


Places = Iterator[tuple[int, int, str]]
"""The start, the end and the message of each finding."""
Words = list[tuple[str, int, int]]
"""The words and punctuation marks of a text, with their starts and ends."""

_GROUPED = r"\d{1,3}(?:[.,'’٬ \u00a0\u2009\u202f]\d{3})+|\d\d?(?:,\d\d)+,\d{3}|\d+"
_SEPARATORS = ".,'’٫٬\u00a0\u2009\u202f"
_NUMBER = re.compile(rf"({_GROUPED})(?:[.,٫](\d+))?")
_INTEGER = re.compile(rf"({_GROUPED})()")
# Ways to read the numbers in a text: as 1,000.5, as 1 000.5, or with 15.50 as a time. Other numbers, such as
# 24.12.2020, are split into integers.
_READINGS = (
    (re.compile(rf"\d+(?:[{_SEPARATORS}]\d+)*"), _NUMBER),
    (re.compile(rf"\d+(?:[{_SEPARATORS} ]\d+)*"), _NUMBER),
    (re.compile(rf"\d+(?:[{_SEPARATORS}]\d+)*"), _INTEGER),
)
# Words that multiply the number before them by a power of ten.
_SCALES = {**dict(zip("百千万萬億亿", (2, 3, 4, 4, 8, 8))), "सय": 2, "हजार": 3, "लाख": 5, "करोड": 7}
_SCALE = re.compile(rf"\s*({'|'.join(_SCALES)})")
_MONTH = re.compile(r"(\d\d?)(?:\s*[月월]|/\d\d?/\d)|[./-](\d\d?)[./-]")
_NUMERALS = re.compile("[一二三四五六七八九十百千两]+")
_TAG = r"</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>"
_PLACEHOLDER = re.compile(
    r"\{\{[\w.]+\}\}|\$?\{[\w.]*\}|%(?:\d+\$|\(\w+\))?(?:\.\d+)?[sdif@](?!\w)|%[A-Za-z_]\w*%"
    rf"|{_TAG}|&(?:\w+|#\w+);"
)
_CODE = re.compile(r"`[^`]*`|(?<![^\s`])\S*(?:[={}_\\|<>]|\w\(|::|--|/)\S*")
_LABEL = re.compile(r"^[^\S\n]*\w{1,2}[.)]*\)|[:;]-?[()]", re.MULTILINE)  # a) or :-)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("«", "»"), ("「", "」"), ("《", "》"))
_ASCII_BRACKETS = str.maketrans("（）［］｛｝", "()[]{}")
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_MAY_REPEAT = {"that", "had", "der", "die", "das", "den", "dem", "sie", "nous", "vous"}
_MIN_COPY = 3  # words
_MIN_RUN = 4  # consecutive source words in the target
_MAX_REPETITION = 10  # words


def _mask(pattern: re.Pattern[str], text: str) -> str:
    """Replaces what a pattern matches with spaces."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _words(text: str) -> Words:
    """Splits a text into words. Each Chinese or Japanese character is a word."""
    return [(text[a:b], a, b) for a, b in split_punctuation(text, split_cjk=True)]


def _script(word: str) -> str:
    """Returns the script of a word; "" for punctuation and mixed scripts. Chinese and Japanese are one script."""
    names = {unicodedata.name(c, "").split(" ")[0] for c in word if c.isalpha()}
    names = {"CJK" if name.startswith(("HIRAGANA", "KATAKANA")) else name for name in names}
    return names.pop() if len(names) == 1 else ""


def _numbers(
    text: str, digits: re.Pattern[str], number: re.Pattern[str]
) -> dict[Decimal, tuple[int, int]]:
    """Returns the positions of the numbers in a text, keyed by value."""
    found: list[tuple[Decimal, int, int]] = []
    for match in digits.finditer(_mask(_PLACEHOLDER, text)):
        start, end = match.span()
        whole = number.fullmatch(match[0])
        for part in [whole] if whole else re.finditer(r"(\d+)()", match[0]):
            value = Decimal(re.sub(r"\D", "", part[1]) + "." + (part[2] or "0"))
            scale = _SCALE.match(text, end)
            value *= 10 ** (_SCALES[scale[1]] if scale else 0)
            if found and text[found[-1][2] : start].strip() in _SCALES:  # 1万1000
                first, start, _ = found.pop()
                value += first
            found.append((value, start, end))
    return {value: (start, end) for value, start, end in found}


def _are_equal(first: Decimal, second: Decimal) -> bool:
    """Returns whether two numbers may be equal: 10 (million) and 10,000,000, 5 (p.m.) and 17, the 90s and 1990."""
    low, high = sorted((first, second))
    scale = high / low if low else low
    is_scaled = scale >= 1000 and scale == Decimal(10) ** scale.adjusted()
    return (
        is_scaled
        or (high - low == 12 and high <= 24)
        or (1000 <= high < 10_000 and high % 100 == low > 0)
    )


def _different_numbers(source: str, target: str) -> Places:
    """Yields the differences under the pair of readings with the fewest differences."""
    if not re.search(r"\d", source):
        return
    sides = ([_numbers(text, *reading) for reading in _READINGS] for text in (source, target))
    months = {Decimal(a or b) for text in (source, target) for a, b in _MONTH.findall(text)}
    # Numbers up to this limit may be written as Chinese numerals in the source.
    numerals = max(map(len, _NUMERALS.findall(source)), default=0)
    limit = (0, 10)[numerals] if numerals < 2 else Decimal("Infinity")
    differences = []
    for theirs, ours in product(*sides):
        missing, extra = theirs.keys() - ours.keys() - months, ours.keys() - theirs.keys() - months
        pairs = [pair for pair in product(missing, extra) if _are_equal(*pair)]
        missing -= {first for first, _ in pairs}
        extra -= {second for _, second in pairs}
        wrong = [ours[value] for value in extra if missing and value > limit]
        # The target may spell out short and round numbers.
        long = [theirs[value] for value in missing if len(value.normalize().as_tuple().digits) > 2]
        differences.append((wrong, long if not wrong else []))
    wrong, long = min(differences, key=lambda each: len(each[0]) + len(each[1]))
    yield from ((*place, f"{target[slice(*place)]} is not in the source") for place in wrong)
    for start, end in long:
        yield len(target), len(target), f"{source[start:end]} is missing"


def _is_plain(word: str) -> bool:
    """Returns whether a word should change in translation, unlike names, numbers and code."""
    return word[0].isalpha() and not word[0].isupper() and not re.search(r"[\d.@&]", word)


def _is_copy(theirs: Words, ours: Words) -> bool:
    """Returns whether both sides have the same words, and most of them are plain."""
    if [word.lower() for word, *_ in theirs] != [word.lower() for word, *_ in ours]:
        return False
    words = [word for word, *_ in theirs if word[0].isalnum()]
    plain = [word for i, word in enumerate(words) if _is_plain(word) or (i == 0 and word.isalpha())]
    length = sum(0.5 if _UNSPACED.match(word) else 1 for word in plain)
    is_code = 2 * len(words) <= len(theirs)
    return length >= _MIN_COPY and 2 * len(plain) > len(words) and not is_code


def _untranslated(source: str, target: str) -> Places:
    """Finds copies of the source, runs of its words, and its words in a script that the rest of the target lacks."""
    if _is_copy(_words(source), _words(target)):
        yield 0, len(target), "copy of the source"
        return
    theirs, ours = (_words(_mask(_CODE, text)) for text in (source, target))
    words = [word for word, *_ in theirs]
    runs = {tuple(words[i : i + _MIN_RUN]) for i in range(len(words))}
    scripts = Counter(script for word, *_ in ours for script in [_script(word)] * len(word))
    usual = {"", "LATIN", *[name for name, _ in scripts.most_common() if name][:1]}
    is_copied = [word in words and _script(word) not in usual for word, *_ in ours]
    for i in range(len(ours) - _MIN_RUN + 1):
        run = tuple(word for word, *_ in ours[i : i + _MIN_RUN])
        if run in runs and all(_is_plain(word) and not _UNSPACED.match(word) for word in run):
            is_copied[i : i + _MIN_RUN] = [True] * _MIN_RUN
    for flag, group in groupby(zip(is_copied, ours), key=lambda item: item[0]):
        places = [place for _, (_, *place) in group]
        start, end = places[0][0], places[-1][1]
        is_original = target[max(0, start - 1)] in "(（"  # Suzuki (鈴木)
        if flag and not is_original:
            yield start, end, "not translated"


def _repeated(text: str) -> Iterator[tuple[int, int]]:
    """Yields where words repeat the words before them. Short repetitions with punctuation do not count."""
    words, last = _words(text), 0
    keys = [word.lower() for word, *_ in words]
    for i, size in product(range(len(keys)), range(1, _MAX_REPETITION + 1)):
        end = i + size
        if i < last or end >= len(keys) or keys[i] != keys[end] or not keys[i][0].isalpha():
            continue
        piece = keys[i:end]
        while keys[end : end + size] == piece:
            end += size
        is_short = _UNSPACED.match(piece[0]) and size < 3
        has_marks = size < 4 and not all(word[0].isalpha() for word in piece)
        may_repeat = end == i + 2 and piece[0] in _MAY_REPEAT
        if end > i + size and not (is_short or has_marks or may_repeat):
            yield words[i + size][1], words[end - 1][2]
            last = end


def _repetitions(source: str, target: str) -> Places:
    repeated = list(_repeated(target))
    if repeated and not any(_repeated(source)):
        yield from ((*place, "repetition") for place in repeated)


def _lengths(source: str, target: str) -> Places:
    theirs, ours = (
        len(text.strip()) + 2 * len(_UNSPACED.findall(text)) for text in (source, target)
    )
    if theirs and not ours:
        yield 0, 0, "no translation"
    elif ours < 0.35 * theirs - 8:
        yield len(target), len(target), "much shorter than the source"
    elif ours > 3 * theirs + 30:
        yield 0, len(target), "much longer than the source"


def _placeholders(source: str, target: str) -> Places:
    """Compares only the names of tags, because their attributes may be translated."""
    found = [
        [(re.sub(r"\s.*(?=/?>)", "", m[0]), *m.span()) for m in _PLACEHOLDER.finditer(text)]
        for text in (source, target)
    ]
    missing = Counter(name for name, *_ in found[0])
    for name, start, end in found[1]:
        if not missing[name]:
            yield start, end, f"{name} is not in the source"
        missing[name] -= 1
    for name in (+missing).elements():
        yield len(target), len(target), f"{name} is missing"


def _double_blanks(source: str, target: str) -> Places:
    if "  " not in source.strip() and not _UNSPACED.search(target):
        yield from ((*m.span(), "double blank") for m in re.finditer(r"(?<=\S)  +(?=\S)", target))


def _brackets(source: str, target: str) -> Places:
    texts = [_mask(_LABEL, text).translate(_ASCII_BRACKETS) for text in (source, target)]
    for left, right in _BRACKETS:
        theirs, ours = (text.count(left) - text.count(right) for text in texts)
        if ours not in (0, theirs):
            at = texts[1].rfind(left if ours > 0 else right)
            yield at, at + 1, f"unpaired {target[at]}"


CHECKS: dict[str, Callable[[str, str], Places]] = {
    "number": _different_numbers,
    "untranslated": _untranslated,
    "repetition": _repetitions,
    "length": _lengths,
    "placeholder": _placeholders,
    "blanks": _double_blanks,
    "brackets": _brackets,
}
"""The function that finds each kind of mistake."""


def check(source: str, target: str) -> list[Finding]:
    """Runs all checks on a translation. Returns the findings in order of position."""
    found = [Finding(kind, *each) for kind, rule in CHECKS.items() for each in rule(source, target)]
    return sorted(found, key=lambda finding: finding[1:3])
