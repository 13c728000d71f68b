"""The readers of labeled sentences and of labeled trees."""

from collections.abc import Iterator
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import SequenceField, SequenceLabelField
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import Text, UntaggedReader
from allennlp_nef.data.fields import ClassField, TagsField
from allennlp_nef.data.formats.characters import OddCharacters, check_labels
from allennlp_nef.data.formats.labeled_sentences import (
    LAYOUTS,
    LabeledSentence,
    LabeledTree,
    check_binary,
    parse_tree,
    read_labeled_sentences,
    read_trees,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError


@DatasetReader.register("labeled_sentences")
class LabeledSentencesReader(UntaggedReader):
    """
    Reads sentences with a label each, such as the questions of TREC and the Stanford Sentiment Treebank (SST). The
    module `allennlp_nef.data.formats.labeled_sentences` states the layouts.

    An instance has the fields `tokens` (`TextField`), `label` (`ClassField`, where it is known) and `metadata`
    (`SentencesMetadata`), as AllenNLP's `basic_classifier` takes them.

    Registered as a `DatasetReader` with name "labeled_sentences".

    # Parameters

    layout : `str`, optional (default = `"tab"`)
        "tab": label, tab, sentence. "blank": label, blank, sentence. "trec": coarse and fine label, as in `LOC:city`,
        blank, question. "trees": trees in brackets, of which the label of the root is read.
    fine_labels : `bool`, optional (default = `False`)
        Whether the labels of the layout "trec" are the fine ones, such as `LOC:city`; else they are the coarse ones.
    tokenizer, token_indexers, encoding, max_tokens, max_instances
        See `UntaggedReader`. A tree has its own words.
    """

    def __init__(self, layout: str = "tab", fine_labels: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ConfigurationError(
                f"layout: expected one of {', '.join(LAYOUTS)}, got {layout!r}"
            )
        if fine_labels and layout != "trec":
            raise ConfigurationError(f"fine_labels: expected the layout trec, got {layout}")
        self.layout = layout
        self.fine_labels = fine_labels

    @overrides(check_signature=False)
    def examples(self, file_path: TextPath) -> Iterator[tuple[TextPath, LabeledSentence]]:
        """Each sentence after the path of its file."""

        def parse(
            sentence: LabeledSentence, odd: OddCharacters
        ) -> tuple[TextPath, LabeledSentence]:
            odd.check(sentence.words, f"{file_path}:{sentence.line}")
            if self.layout == "trec" and not self.fine_labels:
                sentence = sentence._replace(label=sentence.label.partition(":")[0])
            return file_path, sentence

        sentences = read_labeled_sentences(
            file_path, self.layout, self.split, self.encoding, self.on_error
        )
        return self.parse_sentences(sentences, parse)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[1].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        path, sentence = example
        return self.text_to_instance(sentence.words, sentence.label, f"{path}:{sentence.line}")

    @overrides(check_signature=False)
    def text_to_instance(
        self, tokens: Text, label: str | None = None, place: str | None = None
    ) -> Instance:
        """
        # Parameters

        tokens : `str` or `list[str]`
            A sentence, or its words.
        label : `str`, optional (default = `None`, not known)
        place : `str`, optional (default = `None`)
            `file:line`, for errors.

        # Raises

        `DataFormatError`: no words, a word or a label that `check_words` or `check_labels` refuses.
        """
        fields = self.fields_of(self.words_of(tokens, "tokens"))
        if label is not None:
            check_labels([label], "label")
            fields["label"] = ClassField(label, place)
        return Instance(fields)


class _NodesField(SequenceField):
    """The nodes of a tree: what the fields with a value for each node are over. No field of an instance."""

    __slots__: list[str] = ["count"]

    def __init__(self, count: int) -> None:
        self.count = count

    @overrides
    def sequence_length(self) -> int:
        return self.count


@DatasetReader.register("labeled_trees")
class LabeledTreesReader(UntaggedReader):
    """
    Reads binary trees in brackets with a label at each node, such as those of the Stanford Sentiment Treebank, for the
    model `tree_lstm`. The module `allennlp_nef.data.formats.labeled_sentences` states the format.

    An instance has the fields `tokens` (`TextField`), `leaves` and `heads` (one number a node: the index of its word,
    from 1, or 0; the number of its parent, from 1, or 0), `labels` (one a node) and `metadata` (`SentencesMetadata`).

    Registered as a `DatasetReader` with name "labeled_trees".

    # Parameters

    token_indexers, encoding, max_tokens, max_instances
        See `UntaggedReader`.
    """

    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)

    @overrides(check_signature=False)
    def examples(self, file_path: TextPath) -> Iterator[tuple[int, LabeledTree]]:
        """The trees, each after its line."""

        def parse(numbered: tuple[int, LabeledTree], odd: OddCharacters) -> tuple[int, LabeledTree]:
            number, tree = numbered
            odd.check(tree.words, f"{file_path}:{number}")
            check_labels(tree.labels, f"{file_path}:{number}")
            return numbered

        return self.parse_sentences(read_trees(file_path, self.encoding, self.on_error), parse)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[1].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        return self.tree_to_instance(example[1])

    @overrides(check_signature=False)
    def text_to_instance(self, tree: str) -> Instance:
        """The instance of a tree in brackets, whose labels are not gold. Raises a `DataFormatError`."""
        try:
            parsed = parse_tree(tree)
            check_binary(parsed)
        except ValueError as error:
            raise DataFormatError(f"tree: {error}") from None
        self.words_of(parsed.words, "tree")
        return self.tree_to_instance(parsed, False)

    def tree_to_instance(self, tree: LabeledTree, has_labels: bool = True) -> Instance:
        """The instance of a tree that was checked, with or without its labels."""
        fields = self.fields_of(tree.words)
        nodes = _NodesField(len(tree.heads))
        fields["leaves"] = SequenceLabelField(
            [leaf + 1 for leaf in tree.leaves], nodes, "leaf_tags"
        )
        fields["heads"] = SequenceLabelField(tree.heads, nodes, "head_index_tags")
        if has_labels:
            fields["labels"] = TagsField(tree.labels, nodes, "labels")
        return Instance(fields)
