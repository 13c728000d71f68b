"""
The layouts of the files of the WMT shared tasks on quality estimation, with their readers and writers.

A line of tags, for n words of a translation (`split_tags`; `format_tags` writes it):

| layout | tags | since |
|---|---|---|
| words | n | WMT16 |
| words and gaps | 2n+1: gap, word, gap, ..., word, gap | WMT18 |
| words and `<EOS>` | n+1: an omission is marked on the word to its right | WMT22 |

`<EOS>` is a token at the end of the translation, and no word: no aligner sees it.

Columns that tabs separate (`read_table`), in the order of `WORD_LAYOUTS`, `SPAN_LAYOUTS` and `SCORE_LAYOUTS`:

| layout | before the rows | a row |
|---|---|---|
| WMT16 to 19 | | method, sentence, word index, word, tag |
| WMT20 to 22 gold | | language pair, system, kind, sentence, word index, word, tag |
| WMT20 and 21 submission | 2 header lines | the same |
| WMT22 and 23 submission | 3 header lines | the same |
| WMT23 gold | names of the columns | lp, gold, sid, mt, mttok, tags: a sentence |
| spans, WMT23 gold | names of the columns | lp, gold, sid, mt, start_id, end_id, error |
| spans, WMT23 submission | 3 header lines | language pair, system, sentence, text, starts, ends, severities |
| spans, WMT23 development | names of the columns | mt_system, ..., source, target, start_ids, end_ids, errors |
| scores, WMT23 gold | names of the columns | language pair, system, sentence, score |
| scores, submission | 2 or 3 header lines | the same |

A header line has one number: the bytes on disk and the number of parameters (WMT20 and 21), and the number of models in
the ensemble (from WMT22). The kind is `mt` (words of the translation), `gap` (the gaps between them) or `source`. From
WMT22 on the translation ends in the word `<EOS>`. A file may have several kinds, such as three files one after the
other, with their header lines or with those of the first one alone. In gold files of WMT23 a sentence that is left out
has the word and the tag `hallucination`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from allennlp_nef.data.formats.characters import SplitText, find_words
from allennlp_nef.data.formats.text_files import is_whole_number, read_lines
from allennlp_nef.errors import DataFormatError, quote

EOS = "<EOS>"
"""The token after the last word of a translation."""
GAP = "<gap>"
"""The token that stands for a gap between words."""
TAGS = ("OK", "BAD")
TAGGED = {
    "target": "target word",
    "gaps": "gap",
    "target_and_gaps": "target word and gap",
    "source": "source word",
}
"""What can be tagged, and what has a tag then."""
KINDS = ("mt", "gap", "source")
"""What the tags of a file in seven columns are of: words of the translation, gaps, source words."""
HEADER = ("disk_footprint", "parameters", "ensemble_size")
"""What the header lines of a submission are, in their order; the first is in bytes."""
LEFT_OUT = "hallucination"
"""The word and the tag of a sentence that is left out, in gold files of WMT23."""


class SystemInfo(NamedTuple):
    """What a file of the WMT shared tasks says about its system."""

    name: str
    language_pair: str | None = None
    kind: str | None = None
    """What is tagged: "mt" (words), "gap" or "source"."""
    header: tuple[int, ...] = ()
    """The numbers of the header lines of a submission; `wmt_layouts.HEADER` has their names."""


class Layout(NamedTuple):
    """A layout in columns."""

    name: str
    columns: tuple[str, ...]
    header_lines: int = 0
    first_name: str | None = None
    """The name of the first column, where the first line has the names of the columns."""

    def __str__(self) -> str:
        before = f", after {self.header_lines} header lines" if self.header_lines else ""
        names = ", after a line of column names" if self.first_name else ""
        return f"{self.name}: {len(self.columns)} columns{before}{names}"

    def fits(self, header_lines: int, first: Sequence[str]) -> bool:
        """Whether a file may have it, by the number of its header lines and the cells of the first line after them."""
        columns = len(first) - (not first[-1] and len(first) > len(self.columns))
        return (self.header_lines, len(self.columns)) == (header_lines, columns) and (
            self.first_name in (None, first[0])
        )


_WORD = ("language pair", "system", "kind", "sentence", "word index", "word", "tag")
_SPANS = ("language pair", "system", "sentence", "text", "starts", "ends", "severities")
_SCORE = ("language pair", "system", "sentence", "score")
GOLD_WORDS = ("lp", "gold", "sid", "mt", "mttok", "tags")
_GOLD_SPANS = ("lp", "gold", "sid", "mt", "start_id", "end_id", "error")
_ORIGIN = ("mt_system", "doc_id", "seg_id", "annotator_id")
_DEV_SPANS = (*_ORIGIN, "source", "target", "start_ids", "end_ids", "errors")
WORD_LAYOUTS = (
    Layout("WMT16 to 19", ("method", *_WORD[3:])),
    Layout("WMT20 to 22 gold", _WORD),
    Layout("WMT20 and 21 submission", _WORD, 2),
    Layout("WMT22 and 23 submission", _WORD, 3),
    Layout("WMT23 gold", GOLD_WORDS, 0, "lp"),
)
SPAN_LAYOUTS = (
    Layout("WMT23 gold spans", _GOLD_SPANS, 0, "lp"),
    Layout("WMT23 submission of spans", _SPANS, 3),
    Layout("WMT23 development spans", _DEV_SPANS, 0, "mt_system"),
)
SCORE_LAYOUTS = (
    Layout("WMT23 gold scores", _SCORE, 0, "lp"),
    Layout("WMT20 and 21 submission of scores", _SCORE, 2),
    Layout("WMT22 and 23 submission of scores", _SCORE, 3),
)
HALLUCINATION_LAYOUTS = (Layout("WMT23 hallucinations", ("language pair", "sentence"), 0, "lp"),)


# Lines of tags


class LineTags(NamedTuple):
    """The tags of a translation."""

    words: list[str]
    """One a token of the translation."""
    gaps: list[str] | None
    """One a gap, n+1 for n words; None where the line has none."""
    layout: str
    """Such as `2n+1 tags (with gaps)`."""


def check_tags(tags: Sequence[str], location: str = "tags", labels: Sequence[str] = TAGS) -> None:
    """Raises a `DataFormatError` at the first tag that is none of the labels."""
    for position, tag in enumerate(tags, 1):
        if tag not in labels:
            raise DataFormatError(
                f"{location}: expected {' or '.join(labels)}, got {quote(tag)} as tag {position}"
            )


def without_eos(words: list[str]) -> list[str]:
    """The words of a translation, without a final `<EOS>`."""
    return words[:-1] if words[-1:] == [EOS] else words


def check_eos(
    source: Sequence[str],
    target: Sequence[str],
    may_end: bool = True,
    locations: tuple[str, str] = ("source", "target"),
) -> None:
    """Raises a `DataFormatError` for an `<EOS>` elsewhere than at the end of a translation that has words.

    # Parameters

    may_end : `bool`, optional (default = `True`)
        Whether the translation may end in `<EOS>`.
    locations : `tuple[str, str]`, optional (default = `("source", "target")`)
        The beginning of a message about either side.
    """
    if EOS in source:
        raise DataFormatError(
            f"{locations[0]}: expected no {EOS} in the source, got it as word {source.index(EOS) + 1}"
        )
    if EOS in target:
        position = target.index(EOS) + 1
        if not may_end:
            raise DataFormatError(
                f"{locations[1]}: expected no {EOS} where gaps are tagged, got it as word {position}"
            )
        if position < len(target) or position == 1:
            raise DataFormatError(
                f"{locations[1]}: expected {EOS} only after the last word, got it as word {position} of {len(target)}"
            )


def split_tags(text: str, target: list[str], location: str, eos: bool = False) -> LineTags:
    """
    The tags of a line, by their number.

    # Parameters

    text : `str`
        The line.
    target : `list[str]`
        The tokens of the translation as its file has them, checked by `check_eos`.
    location : `str`
        The beginning of a message.
    eos : `bool`, optional (default = `False`)
        Whether the tags are to be those of the words and `<EOS>`. Then those of words and gaps become such as WMT22
        made them: a word is BAD where it or the gap before it is, `<EOS>` where the last gap is.

    # Raises

    `DataFormatError`: a number of tags that fits no layout, or none for `eos`; a tag that is neither OK nor BAD.
    """
    tags = text.split()
    has_eos = target[-1] == EOS
    number = len(target) - has_eos
    if len(tags) == number + 1 and (eos or has_eos):
        check_tags(tags, location)
        return LineTags(tags, None, f"n+1 tags (with {EOS})")
    if len(tags) == 2 * number + 1 and (eos or not has_eos):
        check_tags(tags, location)
        words, gaps = tags[1::2], tags[0::2]
        if eos:
            words = ["BAD" if "BAD" in pair else "OK" for pair in zip(gaps, [*words, "OK"])]
        return LineTags(words, gaps, "2n+1 tags (with gaps)")
    if len(tags) == number and not (eos or has_eos):
        check_tags(tags, location)
        return LineTags(tags, None, "n tags (one a target word)")
    with_eos = f"{number + 1} tags (one a target word and one for {EOS}"
    with_gaps = f"{2 * number + 1} (with gaps)"
    if eos:
        expected = f"{with_eos}) or {with_gaps}, as eos is true"
    elif has_eos:
        expected = f"{with_eos}, in which the translation ends)"
    else:
        expected = f"{number} tags (one a target word), {with_gaps} or, where eos is true, {number + 1} (with {EOS})"
    raise DataFormatError(f"{location}: expected {expected}, got {len(tags)}")


def format_tags(tags: Sequence[str]) -> str:
    """
    A line of a `.tags` file, without its line end: `OK BAD OK`.

    # Raises

    `DataFormatError`: no tags, or one that is neither OK nor BAD.
    """
    if not tags:
        raise DataFormatError("tags: expected at least one tag, got none")
    check_tags(tags)
    return " ".join(tags)


def tagged_side(
    tagged: str, source: list[str], target: list[str], alignments: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str], Sequence[tuple[int, int]]]:
    """
    The tokens that are tagged, the words of the other side, and the alignments (index in the other side, token).

    # Parameters

    tagged : `str`
        One of `TAGGED`.

        - "target": the tokens are those of the translation.
        - "gaps": the words of the translation and `<EOS>`. Each stands for the gap before it.
        - "target_and_gaps": `<gap>`, word, `<gap>`, ..., word, `<gap>`. A gap is aligned as the words beside it are.
        - "source": the words of the source.
    alignments : `Sequence[tuple[int, int]]`
        Pairs (source index, target index).
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


def split_tokens(
    tokens: list[str], text: str | None = None, offsets: Sequence[tuple[int, int]] | None = None
) -> SplitText:
    """The text of tokens and the place of each; of an `<EOS>` that the text lacks, an empty one at its end.

    # Parameters

    text : `str`, optional (default: the tokens, joined by single blanks)
    offsets : `Sequence[tuple[int, int]]`, optional (default: they are looked up in the text)
        The places of the tokens that the text has.
    """
    text = " ".join(tokens) if text is None else text
    words = tokens
    if words[-1:] == [EOS] and text.split()[-1:] != [EOS]:
        words = words[:-1]
    known = find_words(text, words) if offsets is None else offsets
    end = (len(text), len(text))
    return SplitText(text, tokens, [*known, *[end] * (len(tokens) - len(known))])


def interleave(gaps: list[str], words: list[str]) -> list[str]:
    """Gap, word, gap, ..., word, gap: of the n+1 items of gaps and the n items of words."""
    return [item for pair in zip(gaps, words) for item in pair] + gaps[-1:]


# Columns


Line = tuple[int, str]
"""The number of a line in its file, from 1, and its text."""


class Row(NamedTuple):
    """A row of a table."""

    line: int
    """From 1."""
    cells: list[str]


class Table(NamedTuple):
    """A file that was read."""

    path: str
    layout: Layout
    header: tuple[int, ...]
    rows: list[Row]

    def check_same(self, columns: Sequence[int]) -> None:
        """Raises a `DataFormatError` at the first row whose cells in `columns` differ from those of the first row."""
        first = self.rows[0]
        for row in self.rows:
            for column in columns:
                if row.cells[column] != first.cells[column]:
                    raise DataFormatError(
                        f"{self.path}:{row.line}: expected the {self.layout.columns[column]} "
                        f"{quote(first.cells[column])}, as in line {first.line}, got {quote(row.cells[column])}"
                    )

    def check_order(self, columns: Sequence[int]) -> None:
        """The check of `check_same`, and that the third cell of each row is the number of its sentence, from 0."""
        self.check_same(columns)
        for number, (line, cells) in enumerate(self.rows):
            if cells[2] != str(number):
                raise DataFormatError(
                    f"{self.path}:{line}: expected the sentence {number}, got {quote(cells[2])}"
                )

    def system(self) -> SystemInfo:
        """The system of a table that begins with the columns language pair and system."""
        language_pair, name = self.rows[0].cells[:2]
        return SystemInfo(name, language_pair, None, self.header)


def read_table(path: str, layouts: Sequence[Layout], encoding: str = "utf-8") -> Table:
    """The `table_of` the lines of a file. Raises the `DataFormatError` of `read_lines`, too."""
    return table_of(path, layouts, list(enumerate(read_lines(path, encoding), 1)))


def table_of(path: str, layouts: Sequence[Layout], lines: Sequence[Line]) -> Table:
    """
    The table of lines in one of the layouts, which the header lines and the first row tell.

    A row may have an empty cell more than the layout has columns.

    # Raises

    `DataFormatError`: no rows, none of the layouts, a header line that is no number, a row with another number of
    columns, columns in another order.
    """
    lines = [(number, line.rstrip("\r\n")) for number, line in lines]
    count = next((i for i, (_, line) in enumerate(lines) if "\t" in line), None)
    if count is None:
        raise DataFormatError(f"{path}:1: expected columns separated by tabs, got none")
    first_line, text = lines[count]
    first = text.split("\t")
    layout = next((layout for layout in layouts if layout.fits(count, first)), None)
    if layout is None:
        raise DataFormatError(
            f"{path}:{first_line}: expected a layout that is known ({'; '.join(map(str, layouts))}), "
            f"got {len(first)} columns after {count} header lines"
        )
    for name, (number, line) in zip(HEADER, lines[:count]):
        if not is_whole_number(line.strip(" ")):
            raise DataFormatError(
                f"{path}:{number}: expected {name.replace('_', ' ')}, an integer, got {quote(line)}"
            )
    header = tuple(int(line) for _, line in lines[:count])
    rows = []
    for number, line in lines[count:]:
        cells = line.split("\t")
        if len(cells) == len(layout.columns) + 1 and not cells[-1]:
            del cells[-1]
        if len(cells) != len(layout.columns):
            *others, last = layout.columns
            raise DataFormatError(
                f"{path}:{number}: expected {', '.join(others)} and {last}, separated by tabs, "
                f"got {quote(line.rstrip())}"
            )
        rows.append(Row(number, cells))
    if layout.first_name:
        names = rows.pop(0)
        for number, (name, expected) in enumerate(zip(names.cells, layout.columns), 1):
            if name != expected and name in layout.columns:
                raise DataFormatError(
                    f"{path}:{names.line}: expected the columns {', '.join(layout.columns)}, "
                    f"got {name} as column {number}"
                )
    if not rows:
        raise DataFormatError(f"{path}:{lines[-1][0]}: expected at least one row, got none")
    return Table(path, layout, header, rows)


def format_header(header: Sequence[int]) -> str:
    """The header lines of a submission, with their line ends: two numbers (WMT20 and 21) or three; `HEADER` says which.

    # Raises

    `DataFormatError`: another number of numbers, one that is no integer of at least 0.
    """
    if len(header) not in (2, 3) or not all(type(n) is int and n >= 0 for n in header):
        raise DataFormatError(
            f"header: expected two or three integers of at least 0 ({', '.join(HEADER)}), got {quote(list(header))}"
        )
    return "".join(f"{number}\n" for number in header)


# Words and tags in columns


def format_submission(
    method: str,
    sentence_index: int,
    words: Sequence[str],
    tags: Sequence[str],
    language_pair: str | None = None,
    kind: str = "mt",
) -> str:
    """
    Rows of a WMT word-level submission, one a target word: method, sentence, word index, word and tag, separated by
    tabs. Indices are from 0. Rows are joined by line ends, the last has none.

    # Parameters

    method : `str`
        The name of the system.
    words, tags : `Sequence[str]`
        For gaps, each word is `gap`.
    language_pair : `str`, optional (default = `None`)
        Such as "en-de". With it the rows are those of WMT20 and later: language pair, method, kind, sentence, word
        index, word and tag.
    kind : `str`, optional (default = `"mt"`)
        One of `KINDS`; with a language pair only.

    # Raises

    `DataFormatError`: different numbers of words and tags, no words, an unknown tag or kind, an empty method, language
    pair or word, or one that contains a tab or a line end.
    """
    if len(words) != len(tags) or not words:
        raise DataFormatError(
            f"tags: expected one tag for each of at least one word, "
            f"got {len(words)} words and {len(tags)} tags"
        )
    check_tags(tags)
    if kind not in KINDS:
        raise DataFormatError(f"kind: expected {', '.join(KINDS)}, got {quote(kind)}")
    names = [("method", method)]
    if language_pair is not None:
        names.insert(0, ("language_pair", language_pair))
    for name, text in (*names, *(("word", word) for word in words)):
        if not text or any(character in text for character in "\t\r\n"):
            raise DataFormatError(
                f"{name}: expected text without tabs and line ends, got {quote(text)}"
            )
    before = method if language_pair is None else f"{language_pair}\t{method}\t{kind}"
    return "\n".join(
        f"{before}\t{sentence_index}\t{index}\t{word}\t{tag}"
        for index, (word, tag) in enumerate(zip(words, tags))
    )


def format_sentence_score(
    language_pair: str, method: str, sentence_index: int, score: float
) -> str:
    """A row of a submission of scores, without its line end: language pair, system, sentence (from 0), score."""
    return f"{language_pair}\t{method}\t{sentence_index}\t{score!r}"
