"""The files of gold and predicted tags that `score-tags` compares, sentence by sentence."""

from dataclasses import dataclass, field
from typing import Any

from allennlp_nef.data.chunks import OUTSIDE, split_tag
from allennlp_nef.data.columns import CONLLEVAL_BOUNDARY, NO_TAG, read_columns
from allennlp_nef.data.conllu import UNKNOWN, read_conllu
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, quote


@dataclass
class ScoredFile:
    """The sentences of a file, with the line of each tag.

    Tags can be any values that are compared, such as the single score of a sentence; None is not scored. Words are
    empty if the file does not contain them.
    """

    path: str
    sentences: list[Sentence] = field(default_factory=list)
    language_pair: str | None = None
    kind: str | None = None
    """What is tagged, in tables: "mt" (words), "gap" or "source"."""
    has_gaps: bool = False
    """Whether the file also contains gap tags, which were left out."""

    @property
    def tags(self) -> list[list[Any]]:
        return [sentence.tags or [] for sentence in self.sentences]


def read_conll(
    path: str,
    column: int,
    word_column: int = 0,
    comment_prefix: str | None = None,
    are_chunks: bool = True,
    encoding: str = "utf-8",
) -> ScoredFile:
    """Returns the tags in a column of CoNLL."""
    file = ScoredFile(path)
    for sentence in read_columns(path, encoding, comment_prefix, CONLLEVAL_BOUNDARY):
        width, lines = len(sentence.rows[0]), sentence.lines
        for index in (column, word_column):
            if not -width <= index < width:
                raise DataFormatError(
                    f"{path}:{lines[0]}: expected a column {index}, got {width} in total"
                )
        words = [row[word_column] for row in sentence.rows]
        tags = [None if row[column] in NO_TAG else row[column] for row in sentence.rows]
        for tag, line in zip(tags, lines) if are_chunks else ():
            try:
                split_tag(OUTSIDE if tag is None else tag)
            except ValueError as error:
                raise DataFormatError(f"{path}:{line}: {error} in column {column}") from None
        has_words = (column - word_column) % width != 0
        file.sentences.append(Sentence(words if has_words else [], tags, path=path, lines=lines))
    return file


def read_conllu_tags(path: str, column: str, encoding: str = "utf-8") -> ScoredFile:
    """Returns the tags in a column of CoNLL-U."""
    file = ScoredFile(path)
    for sentence in read_conllu(path, encoding):
        tags, words = sentence.column(column), sentence.column("form")
        no_tag = UNKNOWN if column == "upos" else None
        gold = [None if tag == no_tag else tag for tag in tags]
        file.sentences.append(Sentence(words, gold, path=path, lines=sentence.lines))
    if {tag for tags in file.tags for tag in tags} <= {UNKNOWN, None}:
        line = file.sentences[0].lines[0]
        raise DataFormatError(f"{path}:{line}: expected tags in {column}, got {UNKNOWN} everywhere")
    return file


def check_line_up(gold: ScoredFile, file: ScoredFile) -> None:
    """Raises a `DataFormatError` at the first line of a file that does not fit the gold file."""
    for expected, got in ((gold.language_pair, file.language_pair), (gold.kind, file.kind)):
        if expected and got and got != expected:
            raise DataFormatError(
                f"{file.path}:1: expected {expected} as in {gold.path}, got {got}"
            )
    rows = zip(gold.sentences, file.sentences, gold.tags, file.tags)
    for sentence, other, tags, found_tags in rows:
        pairs = zip(sentence.words, other.words)
        differ = next((i for i, (word, found) in enumerate(pairs) if word != found), None)
        if differ is not None:
            expected, got = quote(sentence.words[differ]), quote(other.words[differ])
            place = f"{gold.path}:{sentence.lines[differ]}"
            raise DataFormatError(
                f"{file.path}:{other.lines[differ]}: expected {expected} as in {place}, got {got}"
            )
        if len(sentence.lines) != len(other.lines):
            raise DataFormatError(
                f"{file.path}:{other.lines[0]}: expected {len(sentence.lines)} tags as in "
                f"{gold.path}:{sentence.lines[0]}, got {len(other.lines)}"
            )
        for line, expected, tag in zip(other.lines, tags, found_tags):
            if tag is None and expected is not None:
                raise DataFormatError(f"{file.path}:{line}: expected a predicted tag, got none")
    check_number(gold, file)


def check_number(gold: ScoredFile, file: ScoredFile) -> None:
    """Raises a `DataFormatError` if two files have different numbers of sentences, or none."""
    expected, got = len(gold.sentences), len(file.sentences)
    for each in (gold, file):
        if not each.sentences:
            raise DataFormatError(f"{each.path}:1: expected at least one sentence, got none")
    if got != expected:
        line = file.sentences[min(expected, got - 1)].lines[0]
        numbers = f"expected {expected} sentences as in {gold.path}, got {got}"
        raise DataFormatError(f"{file.path}:{line}: {numbers}")
