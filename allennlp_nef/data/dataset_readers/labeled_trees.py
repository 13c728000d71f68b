from collections.abc import Iterator
from typing import Any, ClassVar

from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import SequenceField, SequenceLabelField
from overrides import overrides

from allennlp_nef.data.dataset_readers.untagged_reader import UntaggedReader
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.formats.characters import OddCharacters, check_labels
from allennlp_nef.data.formats.labeled_trees import (
    LabeledTree,
    check_binary,
    parse_tree,
    read_trees,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError


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
    model `tree_lstm`. The module `allennlp_nef.data.formats.labeled_trees` states the format.

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
        odd = OddCharacters()
        for number, tree in read_trees(file_path, self.encoding, self.on_error):
            place = f"{file_path}:{number}"
            try:
                odd.check(tree.words, place)
                check_labels(tree.labels, place)
            except DataFormatError as error:
                self.on_error(error)
                continue
            yield number, tree
        odd.warn(self.warn)

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
