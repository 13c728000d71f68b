"""The readers of CoNLL-U, for taggers and for parsers, with their output formats."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField, SequenceLabelField
from overrides import overrides

from allennlp_nef.data.dataset_readers.sentence_reader import SentenceReader
from allennlp_nef.data.dataset_readers.tagging_reader import (
    Prediction,
    Text,
    UntaggedReader,
    Writer,
)
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.formats.characters import OddCharacters, check_labels, in_lines
from allennlp_nef.data.formats.conllu import (
    TAG_COLUMNS,
    UNKNOWN,
    ConlluSentence,
    DependencyTree,
    check_heads,
    format_conllu,
    read_conllu,
    tree_of,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.data.metadata import ParsingMetadata
from allennlp_nef.errors import DataFormatError, needing, quote


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with the reader's column filled in, all else as it was."""
    return _filled_in(prediction, {reader.column: prediction.tags})


def _filled_in(prediction: Prediction, columns: Mapping[str, list[str]]) -> str:
    if isinstance(prediction.sentence, ConlluSentence):
        return prediction.sentence.with_columns(columns)
    return format_conllu(prediction.tokens, columns)


@DatasetReader.register("conllu_tags")
class ConlluTagsReader(SentenceReader):
    """
    Reads one column of CoNLL-U files (Universal Dependencies) as tags: parts of speech or morphological features. The
    words are those with an integer ID; multiword tokens and empty nodes are no words. The module
    `allennlp_nef.data.formats.conllu` states the format. For the fields of an instance see `SentenceReader`.

    A file without any value in the column is unlabeled; a warning says so. Where the column is `feats`, a file is
    unlabeled if it has neither a feature nor a part of speech.

    Registered as a `DatasetReader` with name "conllu_tags".

    # Parameters

    column : `str`, optional (default = `"upos"`)
        "upos", "xpos" or "feats".
    token_indexers, encoding, max_tokens, label_namespace
        See `SentenceReader` and `TaggingReader`.
    """

    writers: ClassVar[dict[str, Writer]] = {**SentenceReader.writers, "conllu": write_conllu}

    def __init__(self, column: str = "upos", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column = _checked_column(column)

    @overrides
    def examples(self, file_path: TextPath) -> Iterator[tuple[ConlluSentence, list[str] | None]]:
        """Sentences and their tags."""
        columns = ("upos", "feats") if self.column == "feats" else (self.column,)
        is_labeled = _has_values(file_path, self.encoding, columns)
        if not is_labeled:
            self.warn("%s has no %s: the sentences are unlabeled.", file_path, self.column.upper())

        def parse(
            sentence: ConlluSentence, odd: OddCharacters
        ) -> tuple[ConlluSentence, list[str] | None]:
            where = in_lines(file_path, sentence.lines)
            odd.check(sentence.column("form"), where)
            if not is_labeled:
                return sentence, None
            tags = sentence.column(self.column)
            check_labels(tags, where)
            if self.column == "upos" and UNKNOWN in tags:
                line = sentence.lines[tags.index(UNKNOWN)]
                raise DataFormatError(
                    f"{file_path}:{line}: expected a UPOS tag, as other words have, got {UNKNOWN!r}"
                )
            return sentence, tags

        yield from self.parse_sentences(read_conllu(file_path, self.encoding, self.on_error), parse)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[0].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        sentence, tags = example
        return self.build_instance(sentence.column("form"), tags, sentence)


def _checked_column(column: str) -> str:
    """One of the `TAG_COLUMNS`. Raises a `ConfigurationError` for another."""
    if column not in TAG_COLUMNS:
        raise ConfigurationError(
            f"column: expected one of {', '.join(TAG_COLUMNS)}, got {column!r}"
        )
    return column


def _has_values(path: TextPath, encoding: str, columns: Iterable[str]) -> bool:
    """Whether some word has a value in one of the columns.

    Most files show it in the first sentence. One that is unlabeled is read twice, and never is in memory. Errors come
    again in the second reading.
    """
    sentences = read_conllu(path, encoding, lambda error: None)
    return any(
        value != UNKNOWN
        for sentence in sentences
        for column in columns
        for value in sentence.column(column)
    )


def write_conllu_tree(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with HEAD and DEPREL filled in, all else as it was."""
    answer = prediction.answer
    columns = {"head": list(map(str, answer["heads"])), "deprel": answer["labels"]}
    if prediction.sentence is None:
        columns[reader.column] = prediction.tags
    return _filled_in(prediction, columns)


def write_svg(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """A drawing of the tree as an SVG element on one line. The root is the word without an arc to it."""
    with needing("trees", "svg"):
        from spacy.displacy import DependencyRenderer

    # displaCy escapes the words, and not the rest.
    tags = map(escape, prediction.tags)
    words = [{"text": word, "tag": tag} for word, tag in zip(prediction.tokens, tags)]
    arcs = []
    answer = prediction.answer
    for word, (head, label) in enumerate(zip(answer["heads"], answer["labels"])):
        if head:
            start, end = sorted((word, head - 1))
            side = "left" if word == start else "right"
            arcs.append({"start": start, "end": end, "label": escape(label), "dir": side})
    renderer = DependencyRenderer({"compact": True, "distance": 110})
    drawing = renderer.render_svg(f"tree-{prediction.number}", words, arcs)
    return " ".join(drawing.split()) + "\n"


class _InputTagsField(SequenceLabelField):
    """Tags that a model reads. Their namespace has an unknown tag, of which AllenNLP would warn."""

    __slots__: list[str] = []

    @overrides
    def _maybe_warn_for_namespace(self, label_namespace: str) -> None:
        pass


@DatasetReader.register("conllu_trees")
class ConlluTreesReader(UntaggedReader):
    """
    Reads CoNLL-U files (Universal Dependencies) for parsers: words, one column of tags, heads and dependency labels.
    The words are those with an integer ID; multiword tokens and empty nodes are no words.

    An instance has the fields that allennlp-models' `biaffine_parser` and `arc_mlp_parser` take: `words`, `pos_tags`
    (namespace "pos"), `head_indices` and `head_tags` (namespace "head_tags"), and `metadata`, a `ParsingMetadata`.

    A file in which no word has a HEAD is unlabeled; a warning says so.

    Registered as a `DatasetReader` with name "conllu_trees".

    # Parameters

    column : `str`, optional (default = `"upos"`)
        That of the tags: "upos", "xpos" or "feats".
    tokenizer, token_indexers, encoding, max_tokens, max_instances
        See `UntaggedReader`.
    """

    text_fields: ClassVar[tuple[str, ...]] = ("words",)
    writers: ClassVar[dict[str, Writer]] = {"conllu": write_conllu_tree, "svg": write_svg}

    def __init__(self, column: str = "upos", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column = _checked_column(column)

    @overrides(check_signature=False)
    def examples(
        self, file_path: TextPath
    ) -> Iterator[tuple[ConlluSentence, DependencyTree | None]]:
        """Sentences and their trees."""
        has_trees = _has_values(file_path, self.encoding, ["head"])
        if not has_trees:
            self.warn("%s has no HEAD: the sentences are unlabeled.", file_path)

        def parse(
            sentence: ConlluSentence, odd: OddCharacters
        ) -> tuple[ConlluSentence, DependencyTree | None]:
            where = in_lines(file_path, sentence.lines)
            odd.check(sentence.column("form"), where)
            tree = tree_of(sentence, file_path) if has_trees else None
            if tree is not None:
                check_labels(tree.labels, where)
            check_labels(sentence.column(self.column), where)
            return sentence, tree

        yield from self.parse_sentences(read_conllu(file_path, self.encoding, self.on_error), parse)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[0].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        sentence, tree = example
        return self._build(
            sentence.column("form"), sentence.column(self.column), tree, sentence=sentence
        )

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        words: Text,
        tags: list[str] | None = None,
        heads: list[int] | None = None,
        labels: list[str] | None = None,
    ) -> Instance:
        """
        # Parameters

        words : `str` or `list[str]`
            A sentence, or its words.
        tags : `list[str]`, optional (default = `None`, not known)
            One a word.
        heads : `list[int]`, optional (default = `None`, not known)
            Of each word the number of its head, from 1; 0 for the root.
        labels : `list[str]`, optional (default = `None`, not known)
            Of each word the label of its arc. Heads and labels are known together.

        # Raises

        `DataFormatError`, a `ValueError`: no words, not as many tags, heads or labels as words, heads that are not a
        tree with one root, a word or a label that `check_words` or `check_labels` refuses.
        """
        forms = self.words_of(words, "words")
        for name, values in (("tags", tags), ("heads", heads), ("labels", labels)):
            if values is not None and (not isinstance(values, list) or len(values) != len(forms)):
                raise DataFormatError(
                    f"{name}: expected a list of {len(forms)} values, one a word, got {quote(values)}"
                )
        if (heads is None) != (labels is None):
            raise DataFormatError("heads, labels: expected both or none, got one of them")
        tree = None
        if heads is not None and labels is not None:
            check_heads(heads, len(forms), "heads")
            check_labels(labels, "labels")
            tree = DependencyTree(heads, labels)
        if tags is not None:
            check_labels(tags, "tags")
        return self._build(forms, tags or [UNKNOWN] * len(forms), tree)

    def _build(
        self,
        words: list[str],
        tags: list[str],
        tree: DependencyTree | None,
        sentence: ConlluSentence | None = None,
    ) -> Instance:
        fields: Any = self.fields_of(words)
        fields["pos_tags"] = _InputTagsField(tags, fields["words"], "pos")
        if tree is not None:
            fields["head_tags"] = TagsField(tree.labels, fields["words"], "head_tags")
            # Heads are indices already. Their namespace is not in the vocabulary.
            fields["head_indices"] = SequenceLabelField(
                tree.heads, fields["words"], "head_index_tags"
            )
        fields["metadata"] = MetadataField(ParsingMetadata([words], tags, sentence))
        return Instance(fields)
