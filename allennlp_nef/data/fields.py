"""Gold tags, some of which may be missing, or missing from the vocabulary."""

from collections.abc import Sequence

from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField, SequenceLabelField
from overrides import overrides

# The index of a gold label that is not in the vocabulary.
UNSEEN = -1
# The index of a word without a gold label. PyTorch's losses ignore it.
NO_LABEL = -100


class TagsField(SequenceLabelField):
    """A `SequenceLabelField` in which a label that the vocabulary does not contain has the index `UNSEEN`.

    A model can thus be evaluated on data with labels that its training data lack; it never predicts them. A word whose
    label is None, because nobody annotated it, has the index `NO_LABEL` and counts neither in losses nor in scores.
    """

    __slots__: list[str] = []

    def __init__(
        self,
        labels: Sequence[str | None],
        sequence_field: SequenceField,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__(
            ["" if each is None else each for each in labels], sequence_field, label_namespace
        )
        self.labels = labels  # type: ignore[assignment]

    @overrides
    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for label in () if self._skip_indexing else self.labels:
            if label is not None:
                counter[self._label_namespace][str(label)] += 1

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        if self._skip_indexing:  # the labels are indices
            return
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._indexed_labels = [
            NO_LABEL if label is None else indices.get(str(label), UNSEEN) for label in self.labels
        ]
