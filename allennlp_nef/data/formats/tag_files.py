"""Gold and predicted tags, read from two or more files with the same sentences."""

from itertools import zip_longest
from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import check_labels, check_words, in_lines
from allennlp_nef.data.formats.chunks import split_tag
from allennlp_nef.data.formats.conll_columns import read_columns
from allennlp_nef.data.formats.conllu import UNKNOWN, read_conllu, tree_of
from allennlp_nef.errors import DataFormatError, quote


class TaggedSentence(NamedTuple):
    """The tags of a sentence, and their lines."""

    tags: list[Any]
    """Strings; numbers in files of scores."""
    lines: list[int]
    """The line of each tag, from 1."""
    words: list[str] | None
    """One a tag; None where the file has none."""


class SystemInfo(NamedTuple):
    """What a file of the WMT shared tasks says about its system."""

    name: str
    language_pair: str | None = None
    kind: str | None = None
    """What is tagged: "mt" (words), "gap" or "source"."""
    header: tuple[int, ...] = ()
    """The numbers of the header lines of a submission; `wmt_layouts.HEADER` has their names."""


class TagFile(NamedTuple):
    """The tagged sentences of a file."""

    path: str
    sentences: list[TaggedSentence]
    has_gaps: bool = False
    """Whether the file has tags of the gaps between words too; the sentences do not."""
    system: SystemInfo | None = None
    """What the file says about its system, if it says something."""

    @property
    def tags(self) -> list[list[Any]]:
        """The tags of each sentence."""
        return [sentence.tags for sentence in self.sentences]


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
    sentences, known = [], set()
    for rows, lines in read_columns(path, encoding, comment_prefix=comment_prefix):
        width = len(rows[0])
        for index, what in ((column, "tags"), (word_column, "words")):
            if not -width <= index < width:
                raise DataFormatError(
                    f"{path}:{lines[0]}: expected a column {index} with the {what} (from 0, or -1 for the last), "
                    f"got {width} columns"
                )
        words = None
        if column % width != word_column % width:
            words = [row[word_column] for row in rows]
        check_words(words or (), in_lines(path, lines))
        check_labels([row[column] for row in rows], in_lines(path, lines))
        sentences.append(TaggedSentence([row[column] for row in rows], lines, words))
    for sentence in sentences if chunks else ():
        for tag, line in zip(sentence.tags, sentence.lines):
            if tag not in known:
                try:
                    split_tag(tag)
                except ValueError as error:
                    raise DataFormatError(f"{path}:{line}: {error} in column {column}") from None
                known.add(tag)
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
        rows = list(sentence.words)
        sentences.append(TaggedSentence(rows, sentence.lines, sentence.column("form")))
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
