"""The file layouts of the WMT shared tasks on word-level quality estimation.

A line of tags for a translation of n words:

| layout | tags | since |
|---|---|---|
| words | n | WMT16 |
| words and gaps | 2n+1: gap, word, gap, ..., word, gap | WMT18 |
| words and `<EOS>` | n+1: an omission is marked on the word to its right | WMT22 |

Tables, with columns separated by tabs:

| layout | before the rows | a row |
|---|---|---|
| WMT16 to 19 | | method, sentence, word index, word, tag |
| WMT20 to 22, gold | | language pair, system, kind, sentence, word index, word, tag |
| WMT20 and 21, submission | 2 header lines | the same |
| WMT22 and 23, submission | 3 header lines | the same |
| WMT23, gold | column names | a sentence: lp, gold, sid, mt, mttok, tags |
| spans, WMT23 gold | column names | lp, gold, sid, mt, start_id, end_id, error |
| spans, WMT23 submission | 3 header lines | language pair, system, sentence, text, starts, ends, severities |
| spans, WMT23 development | column names | mt_system, ..., source, target, start_ids, end_ids, errors |
| scores, WMT23 gold | column names | language pair, system, sentence, score |
| scores, submission | 2 or 3 header lines | the same |

The header lines are the bytes on disk, the number of parameters and, from WMT22 on, the number of models. The kind is
`mt` (words of the translation), `gap` or `source`; a file may contain several kinds one after the other, each with its
own header lines. Sentences and words are counted from 0.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

from allennlp_nef.errors import DataFormatError, quote

OK, BAD = "OK", "BAD"
SEVERITIES = ("minor", "major")
# The token after the last word of a translation, and the token of a gap.
EOS, GAP = "<EOS>", "<gap>"
# The tokens that can be tagged; see `tagged_side`.
TAGGED = ("target", "gaps", "target_and_gaps", "source")
Link = tuple[int, int]
# Nine digits at most: a larger index is outside any sentence.
_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
# The first cell of a line of column names.
FIRST_NAMES = ("lp", "mt_system")


def is_word_qe(labels: Collection[str]) -> bool:
    """Returns whether the labels are OK and BAD, or OK and severities."""
    bad = set(labels) - {OK}
    return OK in labels and (bad == {BAD} or (bool(bad) and bad <= {*SEVERITIES}))


def bad_ids_of(labels: Sequence[str]) -> list[int]:
    """Returns the indices of the labels that mark errors: BAD, or the severities."""
    return [index for index, label in enumerate(labels) if label in (BAD, *SEVERITIES)]


def split_tags(
    tags: list[str], words: list[str], where: str, tagged: str = "target", eos: bool = False
) -> list[str]:
    """Returns the tags of the tagged tokens among those of a line, whose layout is inferred from their number.

    # Parameters

    tags : `list[str]`
        All tags of the line.
    words : `list[str]`
        The tokens of the translation, or of the source if it is tagged.
    where : `str`
        The file and line, for error messages.
    tagged : `str`, optional (default = `"target"`)
        Which tags to return, one of `TAGGED`.
    eos : `bool`, optional (default = `False`)
        Whether `<EOS>` needs a tag. Tags of words and gaps are then converted as for WMT22: a word is BAD if the word
        or the gap before it is BAD, `<EOS>` if the last gap is BAD.

    # Raises

    `DataFormatError`: the number of tags fits no layout; a tag is neither OK nor BAD.
    """
    check_tags(tags, where)
    has_eos = words[-1] == EOS
    n = len(words) - has_eos
    allowed = [] if "gaps" in tagged else [n + (eos or has_eos)]
    if tagged != "source" and (eos or not has_eos):
        allowed.append(2 * n + 1)
    if len(tags) not in allowed:
        expected = " or ".join(map(str, allowed))
        hint = ""
        if tagged == "target" and len(tags) == n + 1:
            hint = f" (the option eos reads a tag for {EOS})"
        raise DataFormatError(f"{where}: expected {expected} tags, got {len(tags)}{hint}")
    if len(tags) != 2 * n + 1 or tagged == "target_and_gaps":
        return tags
    gaps, of_words = tags[0::2], tags[1::2]
    if tagged == "gaps":
        return gaps
    if eos:
        return [BAD if BAD in pair else OK for pair in zip(gaps, [*of_words, OK])]
    return of_words


def check_tags(tags: Iterable[str], where: str, labels: Sequence[str] = (OK, BAD)) -> None:
    """Raises a `DataFormatError` for the first tag that is not among the labels."""
    for tag in tags:
        if tag not in labels:
            raise DataFormatError(f"{where}: expected {' or '.join(labels)}, got {quote(tag)}")


def without_eos(words: list[str]) -> list[str]:
    """Returns the words of a translation, without a final `<EOS>`."""
    return words[:-1] if words[-1:] == [EOS] else words


def interleave(gaps: Sequence[str], words: Sequence[str]) -> list[str]:
    """Returns the n+1 items of gaps and the n items of words in the order gap, word, gap, ..., word, gap."""
    return [item for pair in zip(gaps, words) for item in pair] + [gaps[-1]]


def tagged_side(
    tagged: str, source: list[str], target: list[str], alignments: Sequence[Link]
) -> tuple[list[str], list[str], Sequence[Link]]:
    """Returns the tokens to be tagged, the words of the other side, and the links between them.

    # Parameters

    tagged : `str`
        - "target": the words of the translation.
        - "gaps": the words of the translation and `<EOS>`; each represents the gap before it.
        - "target_and_gaps": `<gap>`, word, `<gap>`, ..., word, `<gap>`. A gap has the links of the adjacent words.
        - "source": the words of the source.
    alignments : `Sequence[tuple[int, int]]`
        Pairs (source index, target index). The result has pairs (index on the other side, index of the token).
    """
    if tagged == "source":
        return source, target, [(j, i) for i, j in alignments]
    if tagged == "gaps":
        return [*target, EOS], source, alignments
    if tagged == "target_and_gaps":
        tokens = interleave([GAP] * (len(target) + 1), target)
        links = {(i, k) for i, j in alignments for k in (2 * j, 2 * j + 1, 2 * j + 2)}
        return tokens, source, sorted(links)
    return target, source, alignments


def parse_links(value: Any, source_length: int, target_length: int, where: str) -> list[Link]:
    """Returns the (source index, target index) pairs in a text such as `0-0 1-2`, or in a list of such texts or pairs.

    # Raises

    `DataFormatError`: something that is not a pair, or a pair outside the sentences.
    """
    links = []
    values = value if isinstance(value, list | tuple) else [value]
    for item in chain.from_iterable(v.split() if isinstance(v, str) else [v] for v in values):
        match = _LINK.fullmatch(item) if isinstance(item, str) else None
        link = tuple(map(int, match.groups())) if match else item
        is_pair = isinstance(link, list | tuple) and [type(n) for n in link] == [int, int]
        if not (is_pair and 0 <= link[0] < source_length and 0 <= link[1] < target_length):
            raise DataFormatError(
                f"{where}: expected pairs i-j with i below {source_length} and j below {target_length}, "
                f"got {quote(item)}"
            )
        links.append((link[0], link[1]))
    return links


def check_words(
    source: list[str], target: list[str], tagged: str, where: Mapping[str, str]
) -> None:
    """Raises a `DataFormatError` for a sentence without words, and for an `<EOS>` anywhere but at the end of a
    translation whose gaps are not tagged.
    """
    for part, words in (("source", source), ("target", without_eos(target))):
        if not words:
            raise DataFormatError(f"{where[part]}: expected {part} words, got none")
        if EOS in words:
            raise DataFormatError(f"{where[part]}: expected {EOS} only at the end of a translation")
    if "gaps" in tagged and EOS in target:
        raise DataFormatError(f"{where['target']}: expected no {EOS}, as gaps are tagged")


class Table(NamedTuple):
    """The contents of a table."""

    header: tuple[int, ...]
    """The numbers in the header lines."""
    rows: list[tuple[int, list[str]]]
    """The line number and the cells of each row, without a line of column names."""


def read_table(
    path: str,
    lines: Iterable[tuple[int, str]],
    widths: Sequence[int],
    language_pair: str | None = None,
) -> Table:
    """Reads the numbered lines of a table whose layout follows from its number of columns, which is one of the
    `widths`: 5, 6 or 7 for words, 7 or 9 for spans, 4 for scores. Rows may end in a tab. If a language pair is given,
    rows of other pairs are skipped; tables without a column for it, which have 5 or 9 columns, are read in full.

    # Raises

    `DataFormatError`: the table has no rows, its rows differ in the number of columns, or a repeated header differs
    in the number of lines from the first.
    """
    header: list[int] = []
    rows: list[tuple[int, list[str]]] = []
    for is_header, group in groupby(lines, lambda line: line[1].strip().isdecimal()):
        block = list(group)
        if is_header:
            header = header if rows else [int(line) for _, line in block]
            if len(block) != len(header):
                raise DataFormatError(
                    f"{path}:{block[0][0]}: expected a row, or {len(header)} header lines as at the start, "
                    f"got {len(block)}"
                )
            continue
        for number, line in block:
            cells = line.split("\t")
            if len(cells) - 1 in widths and not cells[-1]:
                del cells[-1]
            if len(cells) not in widths:
                expected = " or ".join(map(str, widths))
                raise DataFormatError(
                    f"{path}:{number}: expected {expected} columns separated by tabs, got {len(cells)}"
                )
            widths = [len(cells)]
            rows.append((number, cells))
    if rows and rows[0][1][0] in FIRST_NAMES:
        del rows[0]
    if not rows:
        raise DataFormatError(f"{path}:1: expected a table with at least one row, got none")
    if language_pair is not None and len(rows[0][1]) not in (5, 9):
        pairs = sorted({cells[0] for _, cells in rows})
        rows = [row for row in rows if row[1][0] == language_pair]
        if not rows:
            raise DataFormatError(
                f"{path}:1: expected rows of {quote(language_pair)}, got {', '.join(pairs)}"
            )
    return Table(tuple(header), rows)
