"""
Files of tags or scores that `score-tags` compares, sentence by sentence.

Tags come in columns of CoNLL, in CoNLL-U, or in the files of the WMT shared tasks: a `.tags` file, a sentence a line,
or columns that tabs separate (`wmt_layouts`). With n words, a line of a `.tags` file has n tags, or 2n+1 with those of
the gaps (gap, word, gap, ..., word, gap). Without the words, n is known only where files differ: see `line_up`. Scores
are numbers, of each word or of each sentence.
"""

import json
import logging
import math
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import check_labels, check_words, in_lines
from allennlp_nef.data.formats.chunks import split_tag
from allennlp_nef.data.formats.conll_columns import read_columns
from allennlp_nef.data.formats.conllu import UNKNOWN, read_conllu, tree_of
from allennlp_nef.data.formats.text_files import is_number, is_whole_number, number_of, read_lines
from allennlp_nef.data.formats.wmt_layouts import (
    GOLD_WORDS,
    HALLUCINATION_LAYOUTS,
    KINDS,
    LEFT_OUT,
    SCORE_LAYOUTS,
    TAGS,
    WORD_LAYOUTS,
    Line,
    Row,
    SystemInfo,
    Table,
    check_tags,
    read_table,
    table_of,
)
from allennlp_nef.errors import DataFormatError, quote

logger = logging.getLogger(__name__)

MIN_LINES = 20
"""All of fewer lines may have an odd number of words by chance."""


class TaggedSentence(NamedTuple):
    """The tags of a sentence, and their lines."""

    tags: list[Any]
    """Strings; numbers in files of scores."""
    lines: list[int]
    """The line of each tag, from 1."""
    words: list[str] | None
    """One a tag; None where the file has none."""


class TagFile(NamedTuple):
    """The tagged sentences of a file."""

    path: str
    sentences: list[TaggedSentence]
    has_gaps: bool = False
    """Whether the file has tags of the gaps between words too; the sentences do not."""
    system: SystemInfo | None = None
    """What the file says about its system, if it says something."""
    documents: list[str] | None = None
    """The document of each sentence, where the file has them."""

    @property
    def tags(self) -> list[list[Any]]:
        """The tags of each sentence."""
        return [sentence.tags for sentence in self.sentences]


# CoNLL and CoNLL-U


def read_tag_column(
    path: str,
    column: int = -1,
    chunks: bool = True,
    encoding: str = "utf-8",
    word_column: int = 0,
    comment_prefix: str | None = None,
) -> TagFile:
    """
    The tags in one of the columns of the CoNLL shared tasks.

    # Parameters

    column : `int`, optional (default = `-1`)
        From 0; negative numbers count from the last column.
    chunks : `bool`, optional (default = `True`)
        Whether the tags have to be chunk tags.
    word_column : `int`, optional (default = `0`)
        From 0; negative numbers count from the last column.
    comment_prefix : `str`, optional (default = `None`, no line is a comment)
        Lines that begin with it are comments.

    # Raises

    `DataFormatError`: what `read_columns`, `check_words` and `check_labels` raise, no such column, a tag that is no
    chunk tag, no tokens.
    """
    sentences = []
    for rows, lines in read_columns(path, encoding, comment_prefix=comment_prefix):
        width = len(rows[0])
        for index, what in ((column, "tags"), (word_column, "words")):
            if not -width <= index < width:
                raise DataFormatError(
                    f"{path}:{lines[0]}: expected a column {index} with the {what} (from 0, or -1 for the last), "
                    f"got {width} columns"
                )
        tags, words = [row[column] for row in rows], None
        if column % width != word_column % width:
            words = [row[word_column] for row in rows]
        check_words(words or (), in_lines(path, lines))
        check_labels(tags, in_lines(path, lines))
        for tag, line in zip(tags, lines) if chunks else ():
            try:
                split_tag(tag)
            except ValueError as error:
                raise DataFormatError(f"{path}:{line}: {error} in column {column}") from None
        sentences.append(TaggedSentence(tags, lines, words))
    return TagFile(path, sentences)


def read_conllu_tags(path: str, column: str = "upos", encoding: str = "utf-8") -> TagFile:
    """The tags in one of the `TAG_COLUMNS` of CoNLL-U.

    # Raises

    `DataFormatError`: what `read_conllu` raises, a tag that `check_labels` refuses.
    """
    sentences = []
    for sentence in read_conllu(path, encoding):
        tags = sentence.column(column)
        check_labels(tags, in_lines(path, sentence.lines))
        sentences.append(TaggedSentence(tags, sentence.lines, sentence.column("form")))
    return TagFile(path, sentences)


def read_conllu_trees(path: str, encoding: str = "utf-8") -> TagFile:
    """The sentences of CoNLL-U with the ten columns of each word in place of a tag.

    # Raises

    `DataFormatError`: what `read_conllu` and `tree_of` raise.
    """
    sentences = []
    for sentence in read_conllu(path, encoding):
        tree_of(sentence, path)
        words = sentence.column("form")
        sentences.append(TaggedSentence(list(sentence.words), sentence.lines, words))
    return TagFile(path, sentences)


def check_labeled(file: TagFile, column: str) -> None:
    """Raises a `DataFormatError` where CoNLL-U is not tagged: all words have `_`, or some do in the column UPOS."""
    untagged = [
        line
        for sentence in file.sentences
        for line, tag in zip(sentence.lines, sentence.tags)
        if tag == UNKNOWN
    ]
    if len(untagged) == sum(map(len, file.tags)):
        line = file.sentences[0].lines[0]
        raise DataFormatError(f"{file.path}:{line}: expected tags, got {UNKNOWN!r} for every word")
    if untagged and column == "upos":
        raise DataFormatError(
            f"{file.path}:{untagged[0]}: expected a UPOS tag, as other words have, got {UNKNOWN!r}"
        )


# Tags of WMT


def read_tags(path: str, encoding: str = "utf-8", kind: str | None = None) -> TagFile:
    """
    The tags of a `.tags` file, those of gaps included, or of a file in one of the `WORD_LAYOUTS`. A sentence that a
    gold file of WMT23 leaves out has no tags.

    # Parameters

    kind : `str`, optional (default = `None`, the file has one kind)
        One of `KINDS`: in columns, the rows of the others are left out.

    # Raises

    `DataFormatError`: no lines, what `read_lines` and `table_of` raise, a line without tags, a tag that is neither OK
    nor BAD; in columns, rows out of order, another language pair, system or kind than that of the first row, an unknown
    kind, a word that `check_words` refuses, not as many words as tags.
    """
    lines = _lines_of(path, encoding)
    row = next((line for _, line in lines if "\t" in line), None)
    if row is not None and not set(row.split()) <= set(TAGS):
        return _read_words(path, lines, kind)
    sentences = []
    for number, line in lines:
        tags = line.split()
        if not tags:
            raise DataFormatError(f"{path}:{number}: expected tags, got an empty line")
        check_tags(tags, f"{path}:{number}")
        sentences.append(TaggedSentence(tags, [number] * len(tags), None))
    return TagFile(path, sentences)


def _lines_of(path: str, encoding: str) -> list[Line]:
    """The lines that `read_lines` gives. Raises its `DataFormatError`, and one for a file without lines."""
    lines = list(enumerate(read_lines(path, encoding), 1))
    if not lines:
        raise DataFormatError(f"{path}:1: expected at least one sentence, got an empty file")
    return lines


def kinds_in(path: str, encoding: str = "utf-8") -> list[str]:
    """The kinds of tags in a file, in the order of `KINDS`; none where it has no seven columns."""
    kinds = {_kind_of(line) for line in read_lines(path, encoding)}
    return [kind for kind in KINDS if kind in kinds]


def _read_words(path: str, lines: Sequence[Line], kind: str | None) -> TagFile:
    """The tags of lines in one of the `WORD_LAYOUTS`."""
    table = table_of(path, WORD_LAYOUTS, lines if kind is None else _of_kind(lines, kind))
    if table.layout.columns == GOLD_WORDS:
        return _read_gold(table)
    before = len(table.layout.columns) - 4
    table.check_same(range(before))
    sentences: list[TaggedSentence] = []
    for row in table.rows:
        _add_row(sentences, path, row)
    line, cells = table.rows[0]
    if before == 1:
        return TagFile(path, sentences, system=SystemInfo(cells[0]))
    language_pair, name, first_kind = cells[:before]
    if first_kind.lower() not in KINDS:
        raise DataFormatError(
            f"{path}:{line}: expected the kind {', '.join(KINDS)}, got {quote(first_kind)}"
        )
    system = SystemInfo(name, language_pair, first_kind.lower(), table.header)
    return TagFile(path, sentences, system=system)


def _kind_of(line: str) -> str | None:
    """The kind of a row of seven columns; None where the line is none, or has an unknown kind."""
    cells = line.split("\t")
    kind = cells[2].lower() if len(cells) >= 7 else None
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


def _read_gold(table: Table) -> TagFile:
    """The tags of a gold file of WMT23."""
    table.check_order([0])
    sentences = []
    for line, (*_, text, tag_text) in table.rows:
        location = f"{table.path}:{line}"
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
    return TagFile(table.path, sentences, system=SystemInfo("gold", table.rows[0].cells[0], "mt"))


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


def read_text(path: str, encoding: str = "utf-8") -> TagFile:
    """The words of a text, a sentence a line, in place of tags.

    # Raises

    `DataFormatError`: no lines, that of `read_lines` and of `check_words`.
    """
    sentences = []
    for number, line in _lines_of(path, encoding):
        words = line.split()
        check_words(words, f"{path}:{number}")
        sentences.append(TaggedSentence(words, [number], words))
    return TagFile(path, sentences)


# Scores


def read_word_scores(
    path: str, field: str = "bad_probabilities", encoding: str = "utf-8"
) -> TagFile:
    """
    A number for each word, higher for worse ones.

    A file has the numbers of a sentence a line, as the explanations of WMT22, or it is what `predict` writes with the
    predictor `word_qe`: an answer in JSON a line.

    # Parameters

    field : `str`, optional (default = `"bad_probabilities"`)
        Of answers, what the numbers are: names and indices (from 0) with points between, such as `trace.attention` or
        `attention.0`. Of several rows of numbers, such as the attention of each step, it is the sum for each word.

    # Raises

    `DataFormatError`: what `read_lines` raises, an empty file or line, what is no number, an answer without the field
    or with another number of scores than words, a word that `check_words` refuses.
    """
    sentences = []
    for number, line in _lines_of(path, encoding):
        location = f"{path}:{number}"
        words = None
        if line.lstrip().startswith("{"):
            answer = _answer(line, location)
            words = answer["tokens"]
            scores = _word_scores(answer, field, location)
        else:
            scores = [_number(text, location) for text in line.split()]
        if not scores:
            raise DataFormatError(f"{location}: expected a number for each word, got none")
        sentences.append(TaggedSentence(scores, [number] * len(scores), words))
    return TagFile(path, sentences)


def read_sentence_scores(path: str, encoding: str = "utf-8") -> TagFile:
    """
    A number for each sentence: a number a line, or one of the `SCORE_LAYOUTS`.

    # Raises

    `DataFormatError`: no lines, what `read_lines` and `table_of` raise, what is no number, sentences out of order,
    another language pair or system than in the first row.
    """
    lines = _lines_of(path, encoding)
    if not any("\t" in line for _, line in lines):
        scores = [(number, line.strip()) for number, line in lines]
        system = None
    else:
        table = table_of(path, SCORE_LAYOUTS, lines)
        table.check_order([0, 1])
        scores = [(line, cells[3]) for line, cells in table.rows]
        system = table.system()
    sentences = [
        TaggedSentence([_number(text, f"{path}:{line}")], [line], None) for line, text in scores
    ]
    return TagFile(path, sentences, system=system)


def _answer(line: str, location: str) -> Any:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(
            f"{location}: expected a JSON object, got {quote(line.strip())} ({error})"
        ) from None
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise DataFormatError(f"{location}: expected an answer with tokens, got {quote(line)}")
    check_words(tokens, location)
    return answer


def _word_scores(answer: Any, field: str, location: str) -> list[float]:
    """The numbers of a field, one a token of the answer."""
    value = answer
    for name in field.split("."):
        try:
            value = value[int(name) if isinstance(value, list) else name]
        except (IndexError, KeyError, TypeError, ValueError):
            raise DataFormatError(
                f"{location}: expected the field {field}, got no {quote(name)}"
            ) from None
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    length = len(answer["tokens"])
    for row in rows:
        if not _are_numbers(row) or len(row) != length:
            raise DataFormatError(
                f"{location}: expected {length} numbers as {field}, one a token, got {quote(row)}"
            )
    sums = [sum(map(float, column)) for column in zip(*rows)]
    if not all(map(math.isfinite, sums)):
        raise DataFormatError(
            f"{location}: expected numbers with a sum as {field}, got {quote(rows)}"
        )
    return sums


def _are_numbers(row: Any) -> bool:
    if not isinstance(row, Sequence) or isinstance(row, str):
        return False
    return all(map(is_number, row))


def _number(text: str, location: str) -> float:
    number = number_of(text)
    if not math.isfinite(number):
        raise DataFormatError(f"{location}: expected a number, got {quote(text)}")
    return number


# Files with the same sentences


def check_lines_up(gold: TagFile, predicted: TagFile) -> None:
    """
    Checks that two files have as many sentences, of as many tokens, and with the same words if both have words.

    # Raises

    `DataFormatError`: it names the first line of `predicted` that differs, and that line of `gold`.
    """
    last_gold = last_predicted = 0
    for expected, got in zip_longest(gold.sentences, predicted.sentences):
        if got is None:
            raise DataFormatError(
                f"{predicted.path}:{last_predicted + 1}: expected a sentence such as that of "
                f"{gold.path}:{expected.lines[0]}, got the end of the file"
            )
        if expected is None:
            raise DataFormatError(
                f"{predicted.path}:{got.lines[0]}: expected the end of the file, as after {gold.path}:{last_gold}, "
                f"got another sentence{_word(got, 0)}"
            )
        _check_sentence(gold.path, expected, predicted.path, got)
        last_gold, last_predicted = expected.lines[-1], got.lines[-1]


def _check_sentence(
    gold_path: str, expected: TaggedSentence, path: str, got: TaggedSentence
) -> None:
    for i, (expected_line, line) in enumerate(zip_longest(expected.lines, got.lines)):
        if line is None:
            raise DataFormatError(
                f"{path}:{got.lines[-1] + 1}: expected the token of {gold_path}:{expected_line}{_word(expected, i)}, "
                "got the end of the sentence"
            )
        if expected_line is None:
            raise DataFormatError(
                f"{path}:{line}: expected the end of the sentence, as after {gold_path}:{expected.lines[-1]}, "
                f"got a token{_word(got, i)}"
            )
        if expected.words and got.words and expected.words[i] != got.words[i]:
            raise DataFormatError(
                f"{path}:{line}: expected the word {quote(expected.words[i])} of {gold_path}:{expected_line}, "
                f"got {quote(got.words[i])}"
            )


def _word(sentence: TaggedSentence, index: int) -> str:
    return f", {quote(sentence.words[index])}" if sentence.words else ""


def check_sentences(gold: TagFile, file: TagFile) -> None:
    """Raises a `DataFormatError` where two files have different numbers of sentences."""
    if len(gold.sentences) != len(file.sentences):
        ended, longer = sorted((gold, file), key=lambda file: len(file.sentences))
        last, following = ended.sentences[-1], longer.sentences[len(ended.sentences)]
        raise DataFormatError(
            f"{ended.path}:{last.lines[-1] + 1}: expected a sentence, as in {longer.path}:{following.lines[0]}, "
            f"got the end of the file after {len(ended.sentences)} of {len(longer.sentences)}"
        )


def check_systems(files: Sequence[TagFile]) -> str | None:
    """
    The kind of the tags, where a file names it.

    # Raises

    `DataFormatError`: another language pair or kind of tags than in a file before.
    """
    kinds = [(file.path, file.system.kind) for file in files if file.system]
    pairs = [(file.path, file.system.language_pair) for file in files if file.system]
    for name, values in (("language pair", pairs), ("kind of tags", kinds)):
        known = [(path, value) for path, value in values if value]
        for path, value in known:
            if value != known[0][1]:
                raise DataFormatError(
                    f"{path}: expected the {name} {quote(known[0][1])}, as in {known[0][0]}, got {quote(value)}"
                )
    return next((kind for _, kind in kinds if kind), None)


def leave_out(
    files: Sequence[TagFile], hallucinations: str | None = None, encoding: str = "utf-8"
) -> list[TagFile]:
    """
    The files without the sentences that the first of them, the gold file, leaves out, or a list of hallucinations.

    # Raises

    `DataFormatError`: that of `read_left_out`, a sentence that the gold file lacks, no sentence left, different numbers
    of sentences.
    """
    gold = files[0]
    numbers = {i for i, sentence in enumerate(gold.sentences) if not sentence.tags}
    if hallucinations is not None:
        pairs = [file.system.language_pair for file in files if file.system is not None]
        pair = next((pair for pair in pairs if pair is not None), None)
        listed = read_left_out(hallucinations, pair, encoding)
        if listed and max(listed) >= len(gold.sentences):
            raise DataFormatError(
                f"{hallucinations}: expected sentences below {len(gold.sentences)}, as many as the gold file has, "
                f"got {max(listed)}"
            )
        numbers |= listed
    if not numbers:
        return list(files)
    for file in files[1:]:
        check_sentences(gold, file)
    kept = [i for i in range(len(gold.sentences)) if i not in numbers]
    if not kept:
        raise DataFormatError(f"{gold.path}: expected sentences that are not left out, got none")
    return [f._replace(sentences=[f.sentences[i] for i in kept]) for f in files]


def read_left_out(path: str, language_pair: str | None, encoding: str = "utf-8") -> set[int]:
    """
    The sentences of a language pair, from 0, that a list of hallucinations of WMT23 leaves out.

    # Raises

    `DataFormatError`: that of `read_table`, a sentence that is no number, and where `language_pair` is None, a list of
    several language pairs.
    """
    table = read_table(path, HALLUCINATION_LAYOUTS, encoding)
    if language_pair is None:
        table.check_same([0])
    numbers = set()
    for line, (pair, sentence) in table.rows:
        if not is_whole_number(sentence):
            raise DataFormatError(
                f"{path}:{line}: expected a sentence, from 0, got {quote(sentence)}"
            )
        if language_pair in (None, pair):
            numbers.add(int(sentence))
    return numbers


def with_words(gold: TagFile, text: TagFile) -> TagFile:
    """
    A file of tags with the words of a text, that of `read_text`.

    # Raises

    `DataFormatError`: not as many lines as sentences or words as tags, other words than those of the file.
    """
    check_sentences(gold, text)
    sentences = []
    for sentence, (words, lines, _) in zip(gold.sentences, text.sentences):
        if len(words) != len(sentence.tags):
            raise DataFormatError(
                f"{text.path}:{lines[0]}: expected {len(sentence.tags)} words, one a tag of "
                f"{gold.path}:{sentence.lines[0]}, got {len(words)}"
            )
        if sentence.words not in (None, words):
            raise DataFormatError(
                f"{text.path}:{lines[0]}: expected the words of {gold.path}:{sentence.lines[0]}, "
                f"got {quote(' '.join(words))}"
            )
        sentences.append(sentence._replace(words=words))
    return gold._replace(sentences=sentences)


def line_up(
    files: Sequence[TagFile], gaps: bool | None = None, only_gaps: bool = False
) -> list[TagFile]:
    """
    The tags of the words in each file, or those of the gaps where files in columns have these. The first file is the
    gold file. Other tags are left out.

    Every line decides by its counts: where one file has n tags and another 2n+1, n are the words. Where all files have
    as many, `gaps` decides. A file with words has no gaps.

    # Parameters

    files : `Sequence[TagFile]`
        Those of `read_tags`, or of `read_word_scores`.
    gaps : `bool`, optional (default = `None`)
        Whether lines with as many tags in all files have those of gaps. None: if all lines are such, at least
        `MIN_LINES`, and every one has an odd number of tags, from 3.
    only_gaps : `bool`, optional (default = `False`)
        The tags of the gaps, also where all files are `.tags` files: the gold file has 2n+1 tags a line, the others as
        many or n+1.

    # Raises

    `DataFormatError`: different numbers of sentences, a line whose numbers of tags do not fit, another language pair or
    kind of tags than in the file before.
    """
    kind = check_systems(files)
    for file in files[1:]:
        check_sentences(files[0], file)
    rows = list(zip(*(file.sentences for file in files)))
    if only_gaps or kind == "gap":
        return _gaps(files, kind)
    for file in files[1:]:
        _check_counts(files[0], file)
    if gaps is None and all(_may_have_gaps(row) for row in rows):
        gaps = len(rows) >= MIN_LINES
        if not gaps:
            logger.warning(
                "%s: each line has an odd number of tags, as many in all files: they count as word tags (gaps).",
                files[0].path,
            )
    words = []
    for row in rows:
        lengths = [len(sentence.tags) for sentence in row]
        submitted = [len(sentence.tags) for sentence in row if sentence.words is not None]
        length = min(submitted or lengths)
        if gaps and not submitted and min(lengths) == max(lengths):
            if not _may_have_gaps(row):
                raise DataFormatError(
                    f"{files[0].path}:{row[0].lines[0]}: expected 2n+1 tags for n words, got {length}"
                )
            length = (length - 1) // 2
        words.append(length)
    return [_without_gaps(file, words) for file in files]


def _gaps(files: Sequence[TagFile], kind: str | None) -> list[TagFile]:
    """The tags of gaps: n+1 of them, or those of a line with 2n+1, as the gold file has where no file names a kind."""
    if kind not in (None, "gap"):
        raise DataFormatError(f"{files[0].path}: expected tags of gaps, got those of kind {kind}")
    numbers = []
    for row in zip(*(file.sentences for file in files)):
        submitted = [len(sentence.tags) for sentence in row if sentence.words is not None]
        numbers.append(submitted[0] if submitted else (len(row[0].tags) + 1) // 2)
    results = []
    for file in files:
        sentences = []
        for sentence, number in zip(file.sentences, numbers):
            length = len(sentence.tags)
            if sentence.words is None and length == 2 * number - 1 and number > 1:
                sentence = TaggedSentence(sentence.tags[::2], sentence.lines[::2], None)
            elif length != number or (kind is None and file is files[0]):
                expected = f"{number} tags of gaps, or " if kind or file is not files[0] else ""
                raise DataFormatError(
                    f"{file.path}:{sentence.lines[0]}: expected {expected}{max(3, 2 * number - 1)} tags of gaps and "
                    f"words, got {length}"
                )
            sentences.append(sentence)
        results.append(file._replace(sentences=sentences))
    return results


def _may_have_gaps(row: Sequence[TaggedSentence]) -> bool:
    """Whether all files have 2n+1 tags for a sentence, by their numbers."""
    length = len(row[0].tags)
    is_odd = length >= 3 and length % 2 == 1
    return is_odd and all(len(s.tags) == length and s.words is None for s in row)


def _check_counts(gold: TagFile, file: TagFile) -> None:
    for expected, got in zip(gold.sentences, file.sentences):
        length = len(expected.tags)
        possible = [length, 2 * length + 1]
        if length >= 3 and length % 2:
            possible.append((length - 1) // 2)
        if len(got.tags) not in possible:
            is_n_plus_1 = length == 2 * len(got.tags) - 1  # of 2n+1
            hint = (
                "; --gaps only scores gaps, and WMT22 has gold files of n+1 tags"
                if is_n_plus_1
                else ""
            )
            raise DataFormatError(
                f"{file.path}:{got.lines[0]}: expected {length} tags as in {gold.path}:{expected.lines[0]} "
                f"({' or '.join(map(str, possible[1:]))} where only one has gaps), got {len(got.tags)}{hint}"
            )


def _without_gaps(file: TagFile, words: Sequence[int]) -> TagFile:
    sentences, has_gaps = [], False
    for sentence, length in zip(file.sentences, words):
        if len(sentence.tags) == 2 * length + 1 and sentence.words is None:
            sentence = TaggedSentence(sentence.tags[1::2], sentence.lines[1::2], None)
            has_gaps = True
        elif len(sentence.tags) != length:
            raise DataFormatError(
                f"{file.path}:{sentence.lines[0]}: expected {length} tags, one a word, or {2 * length + 1} with gaps, "
                f"as the other files have, got {len(sentence.tags)}"
            )
        sentences.append(sentence)
    return file._replace(sentences=sentences, has_gaps=has_gaps)
