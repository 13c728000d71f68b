"""Gold tags that may be missing from the vocabulary."""

from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceLabelField
from overrides import overrides

# The index of a gold label that is not in the vocabulary.
UNSEEN = -1


class TagsField(SequenceLabelField):
    """A `SequenceLabelField` in which a label that the vocabulary does not contain has the index `UNSEEN`.

    A model can thus be evaluated on data with labels that its training data lack; it never predicts them.
    """

    __slots__: list[str] = []

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        if self._skip_indexing:  # the labels are indices
            return
        indices = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._indexed_labels = [indices.get(str(label), UNSEEN) for label in self.labels]
