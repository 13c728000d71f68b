"""CoNLL-U (https://universaldependencies.org/format.html): parser and writer, and the readers `conllu_tags` and
`conllu_trees`."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import MetadataField, SequenceLabelField

from allennlp_nef.data.dataset_readers.base import (
    Prediction,
    SentenceReader,
    TextReader,
    Writer,
    peek,
    read_tagged_objects,
    text_field,
)
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.files import is_json_lines, read_lines
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, quote

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
TAG_COLUMNS = ("upos", "xpos", "feats")
UNKNOWN = "_"
Tree = tuple[list[int], list[str]]
"""The head of each word, from 1, or 0 for the root; and the label of the arc between them."""
_RANGE = re.compile(r"([1-9][0-9]{,8})-([1-9][0-9]{,8})")


@dataclass
class ConlluSentence:
    """A sentence of a CoNLL-U file. Its words have integer IDs; multiword tokens and empty nodes are not words."""

    path: str
    text: list[str]
    """All lines with their line endings, including comments and the empty lines after the sentence."""
    first_line: int
    """The line number of `text[0]`, from 1."""
    words: list[list[str]]
    """The ten columns of each word."""
    lines: "array[int]"
    """The line number of each word, from 1."""

    def column(self, name: str) -> list[str]:
        """Returns the value of one of the `COLUMNS` for each word."""
        index = COLUMNS.index(name)
        return [word[index] for word in self.words]

    def with_columns(self, values: Mapping[str, Sequence[str]]) -> str:
        """Returns the text with different values in some of the `COLUMNS`. All other bytes are unchanged."""
        text = list(self.text)
        for name, column in values.items():
            index = COLUMNS.index(name)
            for number, value in zip(self.lines, column, strict=True):
                # The line ending belongs to the last column.
                columns = text[number - self.first_line].split("\t")
                columns[index] = value
                text[number - self.first_line] = "\t".join(columns)
        return "".join(text)


def read_conllu(path: str, encoding: str = "utf-8") -> Iterator[ConlluSentence]:
    """Yields the sentences of a file. Together, their `text` is the file without its byte order mark.

    # Raises

    `DataFormatError`: any error of `read_lines`, a line that does not have ten columns, an empty column, an ID that is
    out of order, a multiword token with missing words, or a sentence without words.
    """
    text: list[str] = []
    first_line, started, ended = 1, False, False
    for number, line in read_lines(path, encoding, keepends=True):
        is_empty = not line.strip(" \r\n")
        if ended and not is_empty:
            yield _parse(path, text, first_line)
            text, first_line, started, ended = [], number, False, False
        text.append(line)
        started = started or not is_empty
        ended = started and is_empty
    if started:
        yield _parse(path, text, first_line)


def _parse(path: str, text: list[str], first_line: int) -> ConlluSentence:
    sentence = ConlluSentence(path, text, first_line, [], array("L"))
    empty_nodes = range_end = 0
    for number, line in enumerate(text, first_line):
        line = line.rstrip("\r\n")
        if not line.strip(" ") or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != len(COLUMNS) or not all(columns):
            raise DataFormatError(
                f"{path}:{number}: expected {len(COLUMNS)} columns separated by tabs, none of them empty, "
                f"got {len(columns)}: {quote(line)}"
            )
        last = len(sentence.words)
        match = _RANGE.fullmatch(columns[0]) if range_end <= last else None
        if columns[0] == str(last + 1):
            sentence.words.append(columns)
            sentence.lines.append(number)
            empty_nodes = 0
        elif columns[0] == f"{last}.{empty_nodes + 1}":
            empty_nodes += 1
        elif match and int(match[1]) == last + 1 <= int(match[2]):
            range_end = int(match[2])
        else:
            raise DataFormatError(
                f"{path}:{number}: expected the ID {last + 1}, {last}.{empty_nodes + 1} or a range from {last + 1} "
                f"(ranges must not overlap), got {quote(columns[0])}"
            )
    if not sentence.words:
        raise DataFormatError(f"{path}:{first_line}: expected a sentence with words, got none")
    if range_end > len(sentence.words):
        raise DataFormatError(
            f"{path}:{sentence.lines[-1]}: expected words up to {range_end}, the end of a multiword token, "
            f"got {len(sentence.words)}"
        )
    return sentence


def format_conllu(forms: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """Returns the lines of a new sentence: its words and some of the other `COLUMNS`."""
    lines = [f"# text = {' '.join(forms)}\n"]
    for index, form in enumerate(forms):
        values = {name: column[index] for name, column in columns.items()}
        row = {"id": str(index + 1), "form": form, **values}
        lines.append("\t".join(row.get(name, UNKNOWN) for name in COLUMNS) + "\n")
    return "".join(lines) + "\n"


def tree_of(sentence: ConlluSentence) -> Tree:
    """Returns the tree in HEAD and DEPREL. Raises a `DataFormatError` with path and line if there is none."""
    labels = sentence.column("deprel")
    heads: list[int] = []
    for head, label, line in zip(sentence.column("head"), labels, sentence.lines):
        if not re.fullmatch("[0-9]{1,9}", head) or int(head) > len(labels) or label == UNKNOWN:
            raise DataFormatError(
                f"{sentence.path}:{line}: expected a HEAD from 0 to {len(labels)} and a DEPREL, "
                f"got {quote(head)} and {quote(label)}"
            )
        heads.append(int(head))
    fault = fault_of_heads(heads)
    if fault is not None:
        word, message = fault
        raise DataFormatError(f"{sentence.path}:{sentence.lines[word - 1]}: {message}")
    return heads, labels


def fault_of_heads(heads: Sequence[int]) -> tuple[int, str] | None:
    """Returns what keeps heads from forming a tree with one root: a word, counted from 1, and a message; None if
    nothing. A head is the number of another word, or 0 for the root.
    """
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if len(roots) != 1:
        return max(roots, default=1), f"expected one word with HEAD 0, got {len(roots)}"
    reaches_root = {0}
    for word in range(1, len(heads) + 1):
        path: set[int] = set()
        while word not in reaches_root:
            if word in path:
                return word, f"expected a tree, got a cycle through word {word}"
            path.add(word)
            word = heads[word - 1]
        reaches_root |= path
    return None


def _check_column(column: str) -> str:
    if column not in TAG_COLUMNS:
        raise ConfigurationError(f"column must be one of {', '.join(TAG_COLUMNS)}, not {column!r}")
    return column


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """Writes CoNLL-U: the sentence of the input file with the predicted tags in the reader's column."""
    return _fill_in(reader, prediction, {reader.column: prediction.answer["tags"]})


def write_conllu_tree(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """Writes CoNLL-U: the sentence of the input file with the predicted HEAD and DEPREL."""
    answer = prediction.answer
    columns = {"head": list(map(str, answer["heads"])), "deprel": answer["labels"]}
    if not prediction.record.path:
        columns[reader.column] = answer["tags"]
    return _fill_in(reader, prediction, columns)


def _fill_in(reader: Any, prediction: Prediction, columns: Mapping[str, Sequence[str]]) -> str:
    sentence = prediction.record
    if sentence.path and not is_json_lines(sentence.path):
        return reader.reread(sentence).with_columns(columns)
    return format_conllu(sentence.words, columns)


@DatasetReader.register("conllu_tags")
class ConlluTagsReader(SentenceReader):
    """Reads one column of CoNLL-U files (Universal Dependencies) as tags: parts of speech or morphological features; or
    JSON lines (see `read_tagged_objects`). For the fields of an instance see `SentenceReader`.

    A word without UPOS has no gold tag and is ignored in the loss and scores. A file without any value in the column is
    unlabeled, and a warning says so. The `feats` column is empty for most words of some languages, so with `feats` a
    file is unlabeled only if it has no UPOS either.

    # Parameters

    column : `str`, optional (default = `"upos"`)
        "upos", "xpos" or "feats".
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `SentenceReader` and `NefDatasetReader`.
    """

    writers = {**SentenceReader.writers, "conllu": write_conllu}

    def __init__(self, column: str = "upos", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column = _check_column(column)

    def parse(self, path: str) -> Iterator[ConlluSentence]:
        return read_conllu(path, self.encoding)

    def examples(self, file_path: str) -> Iterator[Sentence]:
        no_tag = UNKNOWN if self.column == "upos" else None
        if is_json_lines(file_path):
            yield from read_tagged_objects(file_path, self.encoding, no_tag)
            return
        names = ("upos", "feats") if self.column == "feats" else (self.column,)
        is_labeled, sentences = peek(
            self.parse(file_path),
            lambda parsed: any({*parsed.column(name)} != {UNKNOWN} for name in names),
        )
        if not is_labeled:
            self.warn(
                "%s has no %s, so its sentences are unlabeled.", file_path, self.column.upper()
            )
        for parsed in sentences:
            tags = parsed.column(self.column)
            gold = [None if tag == no_tag else tag for tag in tags] if is_labeled else None
            yield Sentence(parsed.column("form"), gold, path=file_path, lines=parsed.lines)


class PosField(SequenceLabelField):
    """A `SequenceLabelField` whose namespace intentionally has an unknown tag, about which AllenNLP would warn."""

    __slots__: list[str] = []
    _already_warned_namespaces = {"pos"}


@dataclass(slots=True, eq=False)
class WordsWithPos(Sentence):
    """A sentence with the parts of speech of its words, which AllenNLP's parsers read as `metadata["pos"]`."""

    pos: list[str] = field(default_factory=list)


@DatasetReader.register("conllu_trees")
class ConlluTreesReader(TextReader):
    """Reads CoNLL-U files (Universal Dependencies) for parsers: words, one column of tags, heads and dependency labels.

    An instance has the fields that `arc_mlp_parser` and the `biaffine_parser` of allennlp-models take: `words`,
    `pos_tags` (namespace "pos"), if the tree is known `head_indices` and `head_tags`, and `metadata`, a
    `WordsWithPos`.

    A file without any HEAD is unlabeled, and a warning says so.

    # Parameters

    column : `str`, optional (default = `"upos"`)
        The column of the tags: "upos", "xpos" or "feats".
    label_namespace : `str`, optional (default = `"head_tags"`)
        The vocabulary namespace of the dependency labels.
    tokenizer, token_indexers, max_tokens, encoding, max_instances
        See `TextReader` and `NefDatasetReader`.
    """

    text_fields = ("words",)
    writers: ClassVar[dict[str, Writer]] = {"conllu": write_conllu_tree}

    def __init__(
        self, column: str = "upos", label_namespace: str = "head_tags", **kwargs: Any
    ) -> None:
        super().__init__(label_namespace=label_namespace, **kwargs)
        self.column = _check_column(column)

    def examples(self, file_path: str) -> Iterator[dict[str, Any]]:
        has_trees, sentences = peek(
            read_conllu(file_path, self.encoding),
            lambda parsed: {*parsed.column("head")} != {UNKNOWN},
        )
        if not has_trees:
            self.warn("%s has no HEAD, so its sentences are unlabeled.", file_path)
        for sentence in sentences:
            heads, labels = tree_of(sentence) if has_trees else (None, None)
            words, tags = sentence.column("form"), sentence.column(self.column)
            place = {"path": file_path, "lines": sentence.lines}
            yield {"words": words, "tags": tags, "heads": heads, "labels": labels, **place}

    def parse(self, path: str) -> Iterator[ConlluSentence]:
        return read_conllu(path, self.encoding)

    def text_to_instance(
        self,
        words: str | list[str],
        tags: list[str] | None = None,
        heads: list[int] | None = None,
        labels: list[str] | None = None,
        path: str = "",
        lines: Sequence[int] = (),
    ) -> Instance:
        """Returns the instance of a sentence, from a string or its words, their tags and their tree (see `Tree`) if
        they are known, and where it was read.
        """
        words = self.split(words)
        tags = tags or [UNKNOWN] * len(words)
        tokens = text_field(words)
        fields: dict[str, Field] = {
            "words": tokens,
            "pos_tags": PosField(tags, tokens, "pos"),
        }
        if heads is not None and labels is not None:
            fields["head_tags"] = TagsField(labels, tokens, self.label_namespace)
            fields["head_indices"] = SequenceLabelField(heads, tokens, "head_index_tags")
        fields["metadata"] = MetadataField(WordsWithPos(words, path=path, lines=lines, pos=tags))
        return Instance(fields)
