from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceLabelField
from overrides import overrides

UNSEEN = -1
"""The index of a gold label that the vocabulary lacks."""


class TagsField(SequenceLabelField):
    """A `SequenceLabelField` whose gold labels get the index `UNSEEN` where the vocabulary lacks them.

    A model can then be evaluated on data with labels that its training data lack. No prediction is right for them.
    """

    __slots__: list[str] = []

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        if self._skip_indexing:  # the labels are indices
            return
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._indexed_labels = [known.get(str(label), UNSEEN) for label in self.labels]
