"""
Rule-based checks that find mistakes in a translation without a model, as in translation tools.

Placeholders, tags and words are found once in each text, for all rules. Rules take linear time. This module and its
tables need only the standard library, because exported models have a copy of them.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from gettext import c2py
from html.entities import html5
from itertools import groupby, product
from typing import NamedTuple

from allennlp_nef.data.word_splitting import split_punctuation
from allennlp_nef.qe import check_tables as tables


class Finding(NamedTuple):
    """A mistake in the target, with its character offsets. They are equal if something is missing."""

    kind: str
    start: int
    end: int
    message: str


class Code(NamedTuple):
    """A placeholder, a tag, or an inline code of a file, with its place in the text."""

    start: int
    end: int
    name: str
    """What is the same in both languages, such as "g 1"; both codes of a pair have the same."""
    role: str = "single"
    """Whether it is "single", "once" if it may not be used again, or the "open" or "close" of a pair."""
    shown: str = ""
    """What messages call it; by default, its name."""


Places = Iterator[tuple[int, int, str]]
"""The start, the end and the message of each finding."""
Span = tuple[int, int]
Words = list[tuple[str, int, int]]
"""Words, punctuation marks and holes, with their starts and ends. Each Chinese or Japanese character is a word."""


class Text(NamedTuple):
    """One side of a translation, as rules see it: character references are characters."""

    text: str
    offsets: Sequence[int]
    """The offset of each character, and of the end, in the original text."""
    codes: list[Code]
    masked: str
    """The text with `_HOLE` in place of codes and addresses."""
    words: Words
    language: str | None
    likely: set[str]
    """The language; if it is not known, those with the most frequent words in the text."""
    may_omit_number: bool = False
    """Whether it is a plural form for few numbers."""


_HOLE = "\u2b1a"  # a mark that is neither a letter nor a blank
_LANGUAGES_OF: dict[str, list[str]] = {}
"""The languages of each frequent word."""
for _language, _frequent in tables.FREQUENT.items():
    for _word in _frequent:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")


# Preparation: placeholders, tags and words

_PIECE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});|[^&]+|&", re.ASCII)
_PERCENTAGE = re.compile(r"(?<!\d)(\d{1,3})\s?[%٪]")
_CODE = re.compile(
    r"""
      (?P<percent> %% | \d%(?!\d+\$) | \d[ \u00a0\u202f]%[a-zA-Z]{2} )      # 5%, or in German 5 %ige
    | (?P<literal> %[A-Za-z_][A-Za-z0-9_]{2,}%(?![A-Za-z0-9])               # %name%
        | %\#@\w+@ | [$%\#]\{[^{}\s]+\} | &[A-Za-z][\w.]*; )                # ${name}, %{name}, &name;
    | %(?: (?P<at>\d+)\$ | \((?P<key>[^()\s]+)\) | <(?P<key2>\w+)> )?       # %1$s, %(name)s, %-10s, %ld
      [-+0\#'I]* (?:\d+|\*)? (?:\.(?:\d+|\*)?)? (?:hh?|ll?|[qjztL])?
      (?P<conversion> [diouxXeEfFgGaAcspn@] )
    | %L?(?P<qt>\d\d?)                                                      # %1, %L1
    | (?P<letter> %[A-Za-z](?![A-Za-z]) )
    | \{\{ (?P<double>[^{}|]*) (?:\|[^{}]*)? \}\}                           # {{name | upper}}
    | \{ (?P<brace> [\w.-]* (?:\[\w*\])* ) (?: ![rsa] )?                    # {0}, {name!r}, {0:N2}
      (?: :[^{}\s][^{}]*
        | \s*,\s*(?:-?\d+|number|date|time|ordinal|spellout|duration|list)(?:[,:][^{}]*)? )? \}
    | <(?P<slash>/?)(?P<tag>[A-Za-z][\w:.-]*)
      (?P<attributes> (?:\s+[\w:.-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))* ) \s*(?P<end>/?)>
    | (?P<address> (?:https?://|www\.)\S*[^\s.,;:!?)\]}>»”"'<] )
    """,
    re.VERBOSE | re.ASCII,
)
_CONVERSIONS = {**dict.fromkeys("iu", "d"), **dict.fromkeys("eEFgGaA", "f"), "X": "x"}
_ID = re.compile(r"\b(?:rid|startRef|id)\s*=\s*[\"']?([^\s\"'>]+)")
_ICU_TEXT = re.compile(
    r"\{\s*(?P<argument>\w+)\s*,\s*(?:plural|selectordinal|select)\s*,(?:\s*offset:\d+)?"
    r"|(?P<quoted>'[{}#][^']*')|(?P<number>#)|(?P<open>\{)|(?P<close>\})"
)
_ICU_BRANCH = re.compile(r"\s*(?:(?P<branch>=?\w+)\s*\{|(?P<close>\}))")
_ENDLESS = "ICU message without an end"


def _unescape(text: str) -> tuple[str, Sequence[int]]:
    """Replaces character references. Returns the offset of each character in the original, and of the end."""
    parts: list[str] = []
    offsets: list[int] = []
    for match in _PIECE.finditer(text):
        is_reference = match[0].startswith("&#") or match[0][1:] in html5
        parts.append(html.unescape(match[0]) if is_reference else match[0])
        offsets += [match.start()] * len(parts[-1]) if is_reference else range(*match.span())
    return "".join(parts), [*offsets, len(text)]


def _icu(text: str) -> tuple[list[Code], list[Span]]:
    """
    Parses ICU messages such as `{n, plural, one {# file} other {# files}}`.

    Returns the arguments and `#`, and the spans of the syntax. A message without an end is a single code, together with
    the text after it.
    """
    codes: list[Code] = []
    syntax: list[Span] = []
    opened: list[str] = []  # the kinds of the braces around the position
    position = 0
    while match := (_ICU_BRANCH.match if opened[-1:] == ["argument"] else _ICU_TEXT.search)(
        text, position
    ):
        kind, span, position = match.lastgroup or "", match.span(), match.end()
        if kind == "argument":
            codes.append(Code(*span, f"{{{match['argument']}}}"))
            opened.append(kind)
        elif kind == "branch" or (kind == "open" and opened):
            opened.append(kind)
        elif kind == "number" and opened:
            codes.append(Code(*span, "#"))
        if kind == "branch" or (kind == "close" and opened and opened.pop() != "open"):
            syntax.append(span)
    return ([Code(codes[0].start, len(text), _ENDLESS)], []) if opened else (codes, syntax)


def _code_of(match: re.Match[str], counts: Counter[str]) -> tuple[str, str]:
    """
    Returns the name and the role of a placeholder or tag; the name is "" if it is none.

    A placeholder stands for the position and type, or the name, of its argument. Attributes of tags may be translated,
    apart from the id.
    """
    kind, name, role = match.lastgroup, "", "single"
    if kind == "conversion":
        key = match["at"] or match["key"] or match["key2"] or ""
        if not key and match["conversion"] != "n":  # %n of Qt has no position
            counts["%"] += 1
            key = str(counts["%"])
        name = f"%{key}${_CONVERSIONS.get(match['conversion'], match['conversion'])}"
    elif kind == "brace":
        counts["{"] += not match["brace"]
        name = f"{{{match['brace'] or counts['{'] - 1}}}"
    elif kind == "double":
        name = f"{{{{{match['double'].strip()}}}}}"
    elif kind == "qt":
        name = f"%{match['qt']}"
    elif kind == "end" and match["tag"].lower() in tables.TAGS:
        name = match["tag"].lower()
        role = tables.TAGS[name]
        if role == "pair":
            role = "close" if match["slash"] else "single" if match["end"] else "open"
        if identity := _ID.search(match["attributes"]):
            name = f"{name} {identity[1]}"
    elif kind in ("literal", "letter"):
        name = match[0]
    return name, role


def _with_holes(
    text: str, offsets: Sequence[int], codes: Sequence[Code]
) -> tuple[str, Sequence[int], list[Code]]:
    """Inserts a hole at the place of each code. Returns the text, the offsets and the codes with their new places."""
    parts: list[str] = []
    new_offsets: list[int] = []
    placed: list[Code] = []
    last = 0
    for code in codes:
        place = bisect_left(offsets, code.start)
        parts += [text[last:place], _HOLE]
        new_offsets += [*offsets[last:place], code.start]
        placed.append(code._replace(start=place + len(placed), end=place + len(placed) + 1))
        last = place
    return "".join([*parts, text[last:]]), [*new_offsets, *offsets[last:]], placed


def _codes_of(
    text: str, percentages: set[str], inline: Sequence[Code]
) -> tuple[list[Code], list[Span]]:
    """Returns the codes of a text, those of the file included, and other spans that are not words."""
    codes, others = _icu(text)
    is_icu = bool(codes)
    text = _mask(text, [*others, *(code[:2] for code in codes)])
    counts: Counter[str] = Counter()
    for match in _CODE.finditer(text):
        kind, span = match.lastgroup, match.span()
        name, role = _code_of(match, counts)
        if name and not (kind == "qt" and match["qt"] in percentages):
            codes.append(Code(*span, name, role, match[0]))
        elif kind == "address":
            others.append(span)
    codes += inline
    if is_icu:  # each counts once, as languages have different numbers of branches
        others += [code[:2] for code in codes]
        codes = [*{code[2:4]: code for code in reversed(codes)}.values()]
    return codes, others


def _mask(text: str, spans: Iterable[Span]) -> str:
    """Replaces spans, which may overlap, with holes."""
    parts, last = [], 0
    for start, end in sorted(spans):
        if end > last:
            parts += [text[last:start], _HOLE * (end - max(start, last))]
            last = end
    return "".join(parts) + text[last:]


def _base(code: str) -> str:
    """Returns the language of a code, such as "no" for "nb-NO"."""
    language = re.split("[-_]", code.lower())[0]
    return tables.SAME.get(language, language)


def _guess(words: Words) -> set[str]:
    """Returns the languages with the most frequent words in a text, usually one; none without such words."""
    seen = {word.lower() for word, *_ in words}
    hits = Counter(name for word in seen for name in _LANGUAGES_OF.get(word, ()))
    most = max(hits.values(), default=0)
    return {name for name, count in hits.items() if count == most}


def _prepare(
    texts: Sequence[str], languages: Sequence[str | None], codes: Sequence[Sequence[Code]]
) -> list[Text]:
    """Finds the codes and words of both sides."""
    pairs = [_unescape(text) for text in texts]
    percentages = {number for text, _ in pairs for number in _PERCENTAGE.findall(text)}
    sides = []
    for pair, code, inline in zip(pairs, languages, codes):
        text, offsets, placed = _with_holes(*pair, inline)
        found, others = _codes_of(text, percentages, placed)
        masked = _mask(text, [*others, *(each[:2] for each in found)])
        words = [(masked[a:b], a, b) for a, b in split_punctuation(masked, split_cjk=True)]
        language = _base(code) if code else None
        likely = {language} if language else _guess(words)
        found.sort(key=lambda each: each[:2])
        sides.append(Text(text, offsets, found, masked, words, language, likely))
    return sides


# Placeholders, tags and inline codes


def _crossed(codes: Sequence[Code]) -> Code | None:
    """Returns the first code that ends a pair other than the innermost one. The ends of a pair may be in two texts."""
    starts, ends = ({c.name for c in codes if c.role == role} for role in ("open", "close"))
    opened: list[str] = []
    for code in codes:
        if code.name not in starts & ends:
            continue
        if code.role == "open":
            opened.append(code.name)
        elif code.role == "close" and (not opened or opened.pop() != code.name):
            return code
    return None


def _placeholders(source: Text, target: Text) -> Places:
    """Finds missing and added codes, and pairs that cross. A plural form may omit the number, or have it."""
    theirs = Counter(code[2:4] for code in source.codes)
    missing = theirs - Counter(code[2:4] for code in target.codes)
    allowed = theirs.copy()
    extra = []
    for code in target.codes:
        key = code[2:4]
        # A translation may use an argument twice, but not in place of another one.
        allowed[key] -= key not in allowed or code.role != "single" or bool(missing)
        if allowed[key] < 0:
            extra.append(code)
    if (
        target.may_omit_number
        and len(extra) + missing.total() == 1
        and not (extra and source.codes)
    ):
        before, after = (len(re.findall(r"^\s|\s\s|%", side.masked)) for side in (source, target))
        if before >= after:  # no remains of a code
            return
    for code in extra:
        problem = "is repeated" if code[2:4] in theirs else "is not in the source"
        yield code.start, code.end, f"{code.shown or code.name} {problem}"
    for code in [] if any(code.name == _ENDLESS for code in extra) else source.codes:
        if missing[code[2:4]] > 0:
            missing[code[2:4]] -= 1
            yield len(target.text), len(target.text), f"{code.shown or code.name} is missing"
    crossed = _crossed(target.codes)
    if crossed and not (extra or missing or _crossed(source.codes)):
        yield crossed.start, crossed.end, f"{crossed.shown or crossed.name} crosses another pair"


@cache
def is_rare_form(plural_forms: str, form: int) -> bool:
    """
    Returns whether a plural form is for one or two numbers, so that a translation may omit the number.

    `plural_forms` is the header of a PO file, such as "nplurals=2; plural=(n != 1);".
    """
    rule = re.search(r"plural\s*=([^;]+)", plural_forms)
    try:
        form_of = c2py(rule[1].strip() if rule else "n != 1")
        return 1 <= sum(form_of(number) == form for number in range(1001)) <= 2
    except (ValueError, ZeroDivisionError):  # not a valid expression
        return False


# Numbers

_GROUPS = " .,'’٬\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"(?<!\d)(?P<whole>\d{{1,3}}(?P<mark>[{_GROUPS}])\d{{3}}(?:(?P=mark)\d{{3}}){{0,10}}"
    r"|\d\d?(?:,\d\d){1,5},\d{3})(?:(?!(?P=mark))[.,٫](?P<decimals>\d+))?(?![,.]?\d|(?P=mark)\d)"
    r"|\d+(?:[.,'’٫٬]\d+)*"
)
_SCALE = re.compile(rf"\s?({'|'.join(tables.SCALES)})", re.IGNORECASE)
# Numbers such as 3億5000万, 5천만 and 三百二十万.
_SMALL, _LARGE = (f"[{''.join(units)}]" for units in (tables.SMALL_UNITS, tables.LARGE_UNITS))
_NUMERAL = f"[{''.join(tables.NUMERALS)}]"
_EAST_ASIAN = re.compile(
    rf"(?:(?<![\d.,])\d+(?:[.,]\d+)?(?:{_SMALL}{_LARGE}?|{_LARGE})|{_NUMERAL}{_SMALL}?{_LARGE}?"
    rf"|(?<![\d万億亿])[十百千]{_LARGE}?|(?:(?<={_SMALL})|(?<={_LARGE}))\d+){{1,16}}"
)
_MONTH = re.compile(r"\d\d?\s?[月월]")  # may be a name in the other language
_CLOCK = re.compile(
    r"(?i)\d\s*(?:[ap]\.?\s?m\b|uhr|h\b|[時点點时시])|\d[:.]\d\d\b|o.clock|[午오][前後后전후]|[上下]午"
)


class _Number(NamedTuple):
    """A number in a text."""

    start: int
    end: int
    readings: list[list[Decimal]]
    """The ways to read it, each as one or more values, such as those of a date."""
    kind: str = "digits"
    """Or "word", or "numeral" if it may be a part of a Chinese word."""


def _value(whole: str, decimals: str = "") -> Decimal:
    return Decimal(f"{whole}.{decimals or 0}")


def _readings(match: re.Match[str]) -> list[list[Decimal]]:
    """Returns the ways to read a number: as one number if it can be one, such as 2,000, else as a date or a time."""
    parts = re.split(r"\D+", match[0])
    each = [_value(part) for part in parts]
    if len(parts) == 2 and (parts[0] == "0" or not match["whole"]):
        return [[_value(*parts)], each]
    if not match["whole"]:
        return [each]
    whole = [_value(re.sub(r"\D", "", match["whole"]), match["decimals"] or "")]
    is_apart = (match["mark"] or ",").isspace() and not any(part[0] == "0" for part in parts[1:])
    return [whole, each] if is_apart else [whole]


def _east_asian(number: str) -> Decimal:
    """Returns the value of a number such as 3億5000万, 5천만, 三百二十万 or 二〇一九."""
    total = section = digits = Decimal()  # a section ends at 万 or 億
    for arabic, sign in re.findall(r"([\d.,]+)|(.)", number):
        if arabic:
            digits = Decimal(arabic.replace(",", "."))
        elif sign in tables.NUMERALS:
            digits = 10 * digits + tables.NUMERALS[sign]
        elif sign in tables.SMALL_UNITS:
            section += (digits or 1) * tables.SMALL_UNITS[sign]
            digits = Decimal()
        else:
            total += (section + digits or 1) * tables.LARGE_UNITS[sign]
            section = digits = Decimal()
    return total + section + digits


def _numbers(side: Text) -> Iterator[_Number]:
    """Yields the numbers in a text: those in digits, and number words of its language."""
    east_asian = [*_EAST_ASIAN.finditer(side.masked)]
    for match in east_asian:
        kind = "digits" if match[0][0].isdecimal() else "numeral"
        yield _Number(*match.span(), [[_east_asian(match[0])]], kind)
    hidden = [*east_asian, *_MONTH.finditer(side.masked)]
    text = _mask(side.masked, (match.span() for match in hidden))
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        readings = _readings(match)
        if scale := _SCALE.match(text, end):
            power, parts = tables.SCALES[scale[1].lower()], re.split(r"\D+", match[0])
            # Other languages may have scale words that are not in the table.
            unscaled = readings[:1] if scale[0].isascii() else []
            if len(parts) == 2:  # 4.176 million
                readings = [*readings, [_value(*parts)]]
            readings = [[value.scaleb(power) for value in each] for each in readings] + unscaled
        if years := tables.ERAS.get(text[max(0, start - 2) : start]):
            readings = [*readings, [readings[0][0] + years]]
        yield _Number(start, end, readings)
    languages = side.likely or tables.NUMBER_WORDS
    known = [words for name, words in tables.NUMBER_WORDS.items() if name in languages]
    for word, start, end in side.words:
        for values in known:
            parts = [values.get(part) for part in word.lower().split("-")]  # twenty-one
            if None not in parts:
                yield _Number(start, end, [[Decimal(sum(filter(None, parts)))]], "word")


def _shorter(value: Decimal, has_clock: bool) -> set[int]:
    """Returns smaller numbers for the same: 5 (p.m.) for 17, 90 for 1990, 2020 for 2563 (Thai)."""
    if has_clock and 12 < value <= 24:
        return {int(value) - 12}
    if 1000 <= value < 6000:
        year = int(value)
        return {year % 100 or year, *(year - years for years in tables.CALENDARS)}
    return set()


def _is_long(value: Decimal) -> bool:
    """Returns whether a number has more than two significant digits, so that it is rarely written in words."""
    return len(str(value.normalize()).partition("E")[0].replace(".", "")) > 2


def _unknown(
    numbers: Iterable[_Number], others: set[Decimal], has_clock: bool
) -> list[tuple[_Number, list[Decimal]]]:
    """Returns the numbers that the other side lacks, with the unknown values of their best reading."""
    known = others | {each for value in others for each in _shorter(value, has_clock)}
    unknown = []
    for number in numbers:
        readings = (
            [v for v in reading if v not in known and others.isdisjoint(_shorter(v, has_clock))]
            for reading in number.readings
        )
        best = min(readings, key=len)
        if best and (number.kind == "digits" or best > [Decimal(1)]):  # "one" is also a pronoun
            unknown.append((number, best))
    return unknown


def _different_numbers(source: Text, target: Text) -> Places:
    """
    Finds numbers that cannot be read as any number of the other side.

    One that the source does not have is an error only if the target lacks a similar one, since either may be in words.
    """
    sides = source, target
    has_clock = any(_CLOCK.search(side.masked) for side in sides)
    theirs, ours = ([*_numbers(side)] for side in sides)
    their_values, our_values = (
        {v for each in side for reading in each.readings for v in reading}
        for side in (theirs, ours)
    )
    missing = _unknown(theirs, our_values, has_clock)
    extra = _unknown(ours, their_values, has_clock)
    sizes = {value.adjusted() for _, values in missing for value in values}
    similar = {size + each for size in sizes for each in (-1, 0, 1)}
    # Words are only held against words of languages whose number words are known.
    has_words = bool(source.likely) and source.likely <= {*tables.NUMBER_WORDS, "ja", "zh"}
    kinds = ["digits", "word"] if has_words else ["digits"]
    wrong = [
        number
        for number, values in extra
        if number.kind in kinds
        and any((_is_long(value) and missing) or value.adjusted() in similar for value in values)
    ]
    for start, end, *_ in wrong:
        yield start, end, f"{target.text[start:end]} is not in the source"
    for (start, end, _, kind), values in [] if wrong else missing:
        if kind == "digits" and any(_is_long(value) for value in values):
            yield len(target.text), len(target.text), f"{source.text[start:end]} is missing"


# Words

_SOURCE_CODE = re.compile(r"`[^`]*`|(?<![^\s`])\S*(?:[={}_\\|<>]|\w\(|::|--|/)\S*")
# Quoted text, and text in brackets, such as the originals of names.
_QUOTED = re.compile(
    r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|»[^«»]*«|『[^『』]*』|「[^「」]*」|《[^《》]*》|‘[^‘’]*’"
    r"|[(（][^()（）]*[)）]|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)"
)
_MIN_COPY = 3  # words
_MIN_RUN = 4  # consecutive source words in the target
_MAX_REPETITION = 10  # words
_SEPARATORS = frozenset(">→/\\|·•▸►–—")


def _script(word: str) -> str:
    """Returns the script of a word; "" for punctuation and mixed scripts. Chinese and Japanese are one script."""
    names = {unicodedata.name(c, "").split(" ")[0] for c in word if c.isalpha()}
    names = {"CJK" if name.startswith(("HIRAGANA", "KATAKANA")) else name for name in names}
    return names.pop() if len(names) == 1 else ""


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


def _is_left(word: str, source: Text, target: Text) -> bool:
    """
    Returns whether a word of both texts belongs to the source language alone: it is one of its frequent words, or is
    written as no word of the target language.
    """
    if languages := _LANGUAGES_OF.get(word):
        return len(word) > 2 and source.likely.issuperset(languages)
    patterns = [tables.FOREIGN.get(language) for language in target.likely]
    is_foreign = all(pattern and re.search(pattern, word) for pattern in patterns)
    return len(word) > 3 and bool(patterns) and is_foreign and word not in tables.LOANS


def _visible(text: Text, *hidden: re.Pattern[str]) -> Words:
    """Returns the words outside the matches of patterns. In their place are holes."""
    masked = text.masked
    for pattern in hidden:
        masked = _mask(masked, (match.span() for match in pattern.finditer(masked)))
    return [(masked[start:end], start, end) for _, start, end in text.words]


def _untranslated(source: Text, target: Text) -> Places:
    """Finds copies of the source, and its words in a row, in a script or a language that is not the target's."""
    if target.language and target.language in source.likely:
        return
    is_judged = source.likely or target.language not in tables.FREQUENT
    if is_judged and _is_copy(source.words, target.words):
        yield 0, len(target.text), "copy of the source"
        return
    ours = _visible(target, _SOURCE_CODE, _QUOTED)
    in_source = {word for word, *_ in _visible(source, _SOURCE_CODE) if word[0].isalpha()}
    scripts = Counter(script for word, *_ in ours for script in [_script(word)] * len(word))
    usual = {"", "LATIN", *[name for name, _ in scripts.most_common() if name][:1]}
    can_tell = bool(target.likely) and not source.likely & target.likely
    for is_shared, group in groupby(ours, key=lambda item: item[0] in in_source):
        run = list(group)
        plain = [word for word, *_ in run if _is_plain(word) and not _UNSPACED.match(word)]
        is_long = len(plain) >= _MIN_RUN and 3 * len(plain) > 2 * len(run)  # not a title
        is_lower = all(word.isalpha() and word.islower() for word, *_ in run)
        left = [
            (start, end)
            for word, start, end in run
            if is_long
            or (_script(word) not in usual and (len(word) > 1 or _UNSPACED.match(word)))
            or (can_tell and is_lower and _is_left(word, source, target))
        ]
        if is_shared and left:
            yield left[0][0], left[-1][1], "not translated"


def _repeated(words: Words, may_double: bool) -> Iterator[Span]:
    """Yields where words repeat the words before them. Short repetitions with punctuation do not count."""
    keys = [word.lower() for word, *_ in words]
    last = 0
    seen = [0] * (_MAX_REPETITION + 1)  # by size, the end of the last run of repetitions
    for i, size in product(range(len(keys)), range(1, _MAX_REPETITION + 1)):
        piece, end = keys[i : i + size], i + size
        if (
            i < max(last, seen[size])
            or not piece[0][0].isalpha()
            or keys[end : end + 1] != piece[:1]
        ):
            continue
        while keys[end : end + size] == piece:
            end += size
        seen[size] = end - size
        may_repeat = (
            (size < 4 and not all(word[0].isalpha() for word in piece))
            or (size < 3 and _UNSPACED.match(piece[0]))
            or (end == i + 2 * size and size < 3 and may_double)
            or (end == i + 2 and piece[0] in tables.MAY_DOUBLE)
            or not _SEPARATORS.isdisjoint(piece)
        )
        if end > i + size and not may_repeat:
            yield words[i + size][1], words[end - 1][2]
            last = end


def _repetitions(source: Text, target: Text) -> Places:
    """Finds words that are repeated, more than the language may do on purpose, and not in the source."""
    may_double = not target.likely or any(
        language in tables.DOUBLING or language not in tables.FREQUENT for language in target.likely
    )
    repeated = list(_repeated(target.words, may_double))
    if repeated and not any(_repeated(source.words, may_double=False)):
        yield from ((*place, "repetition") for place in repeated)


# The whole text


def _lengths(source: Text, target: Text) -> Places:
    sides = (side.text.strip() for side in (source, target))
    theirs, ours = (len(text) + 2 * len(_UNSPACED.findall(text)) for text in sides)
    if theirs and not ours:
        yield 0, 0, "no translation"
    elif ours < 0.35 * theirs - 8:
        yield len(target.text), len(target.text), "much shorter than the source"
    elif ours > 3 * theirs + 30:
        yield 0, len(target.text), "much longer than the source"


def _double_blanks(source: Text, target: Text) -> Places:
    if "  " not in source.text.strip() and not _UNSPACED.search(target.text):
        for match in re.finditer(r"(?<=[^\s.?!])  +(?=\S)", target.text):  # as on typewriters
            yield *match.span(), "double blank"


_PARTNERS = dict(zip(")]}」』》】", "([{「『《【"))
_ASCII_BRACKETS = str.maketrans("（）［］｛｝", "()[]{}")
_LABEL = re.compile(
    r"(?<!\S)\(?(?:\d{1,3}|[ivx]{1,4}|\w)[.)]?\)|(?<!\S)[:;8=]-?[()\[\]{}]+(?!\S)|[-=]>|<[-=]"
)  # a), :-), ->


def _unpaired(text: str) -> list[int]:
    """Returns the positions of the brackets without a partner. Labels and smileys have none."""
    labels = {match.end() - 1 for match in _LABEL.finditer(text)}
    opened: dict[str, list[int]] = {left: [] for left in _PARTNERS.values()}
    unpaired = []
    for match in re.finditer(r"[(){}\[\]「」『』《》【】]", text):
        if match[0] in opened:
            opened[match[0]].append(match.start())
        elif opened[_PARTNERS[match[0]]]:
            opened[_PARTNERS[match[0]]].pop()
        else:
            unpaired.append(match.start())
    unpaired += [place for places in opened.values() for place in places]
    return sorted({*unpaired} - labels)


def _brackets(source: Text, target: Text) -> Places:
    theirs, ours = (side.masked.translate(_ASCII_BRACKETS) for side in (source, target))
    allowed = Counter(theirs[place] for place in _unpaired(theirs))
    for place in _unpaired(ours):
        if allowed[ours[place]]:
            allowed[ours[place]] -= 1
        else:
            yield place, place + 1, f"unpaired {target.text[place]}"


_MAX_FINDINGS = 1000  # of a kind; more become one
CHECKS: dict[str, Callable[[Text, Text], Places]] = {
    "number": _different_numbers,
    "untranslated": _untranslated,
    "repetition": _repetitions,
    "length": _lengths,
    "placeholder": _placeholders,
    "blanks": _double_blanks,
    "brackets": _brackets,
}
"""The function that finds each kind of mistake."""


def check(
    source: str,
    target: str,
    source_language: str | None = None,
    target_language: str | None = None,
    source_codes: Sequence[Code] = (),
    target_codes: Sequence[Code] = (),
    may_omit_number: bool = False,
) -> list[Finding]:
    """
    Runs all checks on a translation. Returns the findings in order of position.

    Parameters
    ----------
    source, target : `str`
        The texts. Both may have placeholders, tags, ICU messages and character references.
    source_language, target_language : `str`, optional
        Codes such as "pt-BR". Without them, frequent words tell the language of longer texts.
    source_codes, target_codes : `Sequence[Code]`, optional
        The inline codes of a file, in the order of their places. They are between characters: each starts where it
        ends.
    may_omit_number : `bool`, optional (default = `False`)
        Whether the target is a plural form for few numbers; see `is_rare_form`.
    """
    theirs, ours = _prepare(
        (source, target), (source_language, target_language), (source_codes, target_codes)
    )
    ours = ours._replace(may_omit_number=may_omit_number)
    found = []
    for kind, rule in CHECKS.items():
        places = [*rule(theirs, ours)]
        if len(places) > _MAX_FINDINGS:
            starts, ends, messages = zip(*places)
            places = [(min(starts), max(ends), f"{messages[0]}, and {len(places) - 1:,} more")]
        found += [Finding(kind, ours.offsets[a], ours.offsets[b], text) for a, b, text in places]
    return sorted(found, key=lambda finding: finding[1:3])
