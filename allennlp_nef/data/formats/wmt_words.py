"""
Words and tags of the WMT shared tasks on word-level quality estimation, in columns.

- Submissions of WMT16 to 19: method, sentence, word index, word, tag.
- WMT20 to 23: language pair, system, kind, sentence, word index, word, tag. The kind is `mt` (words of the
  translation), `gap` (the gaps between them) or `source`. Gold files have no header lines, submissions two (WMT20 and
  21) or three. From WMT22 on the translation ends in the word `<EOS>`. A file may have several kinds, such as three
  files one after the other, with their header lines or with those of the first one alone.
- Gold files of WMT23: a sentence a row. A sentence that is left out has the word and the tag `hallucination`.
"""

from collections.abc import Sequence
from itertools import takewhile

from allennlp_nef.data.formats.tag_files import TaggedSentence
from allennlp_nef.data.formats.text_files import read_lines
from allennlp_nef.data.formats.wmt_layouts import check_tags
from allennlp_nef.data.formats.wmt_submissions import KINDS, format_tags
from allennlp_nef.data.formats.wmt_tables import (
    Layout,
    Line,
    Row,
    SystemInfo,
    Table,
    same_system,
    table_of,
)
from allennlp_nef.data.formats.words import check_words
from allennlp_nef.errors import DataFormatError, quote

_COLUMNS = ("language pair", "system", "kind", "sentence", "word index", "word", "tag")
_GOLD = ("lp", "gold", "sid", "mt", "mttok", "tags")
LAYOUTS = (
    Layout("WMT16 to 19", ("method", *_COLUMNS[3:])),
    Layout("WMT20 to 22 gold", _COLUMNS),
    Layout("WMT20 and 21 submission", _COLUMNS, 2),
    Layout("WMT22 and 23 submission", _COLUMNS, 3),
    Layout("WMT23 gold", _GOLD, 0, "lp"),
)
GOLD_NAMES = "\t".join(_GOLD) + "\n"
"""The first line of a gold file of WMT23."""
LEFT_OUT = "hallucination"
"""The word and the tag of a sentence that is left out, in gold files of WMT23."""


def kinds_in(path: str, encoding: str = "utf-8") -> list[str]:
    """The kinds of tags in a file, in the order of `KINDS`; none where it has no seven columns."""
    found = {_kind_of(line) for line in read_lines(path, encoding)}
    return [kind for kind in KINDS if kind in found]


def read_words(
    path: str, encoding: str = "utf-8", kind: str | None = None
) -> tuple[SystemInfo, list[TaggedSentence]]:
    """
    The sentences of a file in one of the `LAYOUTS`, and its system. A sentence that is left out has no tags.

    # Parameters

    path : `str`
    encoding : `str`, optional (default = `"utf-8"`)
    kind : `str`, optional (default = `None`, the file has one kind)
        One of `KINDS`: the rows of the others are left out.

    # Raises

    `DataFormatError`: that of `read_table`, rows out of order, another language pair, system or kind than that of the
    first row, an unknown kind, a tag that is neither OK nor BAD, a word that `check_words` refuses, not as many
    words as tags.
    """
    lines = list(enumerate(read_lines(path, encoding), 1))
    table = table_of(path, LAYOUTS, lines if kind is None else _of_kind(lines, kind))
    if table.layout.columns == _GOLD:
        return _read_gold(path, table)
    before = len(table.layout.columns) - 4
    same_system(path, table, range(before))
    sentences: list[TaggedSentence] = []
    for row in table.rows:
        _add_row(sentences, path, row)
    first = table.rows[0]
    if before == 1:
        return SystemInfo(first.cells[0]), sentences
    language_pair, name, first_kind = first.cells[:before]
    if first_kind.lower() not in KINDS:
        raise DataFormatError(
            f"{path}:{first.line}: expected the kind {', '.join(KINDS)}, got {quote(first_kind)}"
        )
    return SystemInfo(name, language_pair, first_kind.lower(), table.header), sentences


def format_gold(
    language_pair: str,
    sentence: int,
    text: str,
    words: Sequence[str],
    tags: Sequence[str] | None,
) -> str:
    """
    A row of a gold file of WMT23, with its line end. The file begins with `GOLD_NAMES`.

    # Parameters

    language_pair, text : `str`
    sentence : `int`
        From 0.
    words : `Sequence[str]`
        The words of the text, `<EOS>` after them.
    tags : `Sequence[str]`, optional
        OK or BAD for each word. None for a sentence that is left out.

    # Raises

    `DataFormatError`: not as many tags as words, an unknown tag, text or a word that has a tab or a line end.
    """
    if tags is not None and len(tags) != len(words):
        raise DataFormatError(f"tags: expected {len(words)} tags, one a word, got {len(tags)}")
    for name, value in (
        ("language_pair", language_pair),
        ("text", text),
        *(("word", w) for w in words),
    ):
        if any(character in value for character in "\t\r\n"):
            raise DataFormatError(f"{name}: expected no tabs and line ends, got {quote(value)}")
    parts = [LEFT_OUT] * 2 if tags is None else [" ".join(words), format_tags(tags)]
    return "\t".join([language_pair, "gold", str(sentence), text, *parts]) + "\n"


def _kind_of(line: str) -> str | None:
    """The kind of a row of seven columns; None where the line is none, or has an unknown kind."""
    cells = line.split("\t")
    kind = cells[2].lower() if len(cells) >= len(_COLUMNS) else None
    return kind if kind in KINDS else None


def _of_kind(lines: Sequence[Line], kind: str) -> list[Line]:
    """The lines without the rows of other kinds, and without the header lines before these.

    A kind without header lines of its own gets those at the start of the file. All else stays, and is an error later.
    """
    first_header = list(takewhile(lambda line: "\t" not in line[1], lines))
    part: list[Line] = []
    header: list[Line] = []
    for line in lines:
        if "\t" not in line[1]:
            header.append(line)
            continue
        if _kind_of(line[1]) in (None, kind):
            part += [*(header or ([] if part else first_header)), line]
        header = []
    return part + header


def _read_gold(path: str, table: Table) -> tuple[SystemInfo, list[TaggedSentence]]:
    same_system(path, table, [0])
    sentences = []
    for number, (line, (_, _, sid, _, text, tag_text)) in enumerate(table.rows):
        location = f"{path}:{line}"
        if sid != str(number):
            raise DataFormatError(f"{location}: expected the sentence {number}, got {quote(sid)}")
        words, tags = text.split(" "), tag_text.split(" ")
        if tags == [LEFT_OUT]:
            sentences.append(TaggedSentence([], [line], []))
            continue
        if len(words) != len(tags):
            raise DataFormatError(
                f"{location}: expected {len(words)} tags, one a word, got {len(tags)}"
            )
        check_tags(tags, location)
        check_words(words, location)
        sentences.append(TaggedSentence(tags, [line] * len(tags), words))
    return SystemInfo("gold", table.rows[0].cells[0], "mt"), sentences


def _add_row(sentences: list[TaggedSentence], path: str, row: Row) -> None:
    """Adds a row to the last sentence, or begins another."""
    location = f"{path}:{row.line}"
    sentence, index, word, tag = row.cells[-4:]
    following = [(str(len(sentences)), "0")]
    if sentences:
        following.insert(0, (str(len(sentences) - 1), str(len(sentences[-1].tags))))
    if (sentence, index) not in following:
        expected = " or ".join(" ".join(numbers) for numbers in following)
        raise DataFormatError(
            f"{location}: expected the sentence and word {expected}, got {quote(f'{sentence} {index}')}"
        )
    check_tags([tag], location)
    check_words([word], location)
    if index == "0":
        sentences.append(TaggedSentence([], [], []))
    last = sentences[-1]
    last.tags.append(tag)
    last.lines.append(row.line)
    if last.words is not None:
        last.words.append(word)
