from typing import List

from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceLabelField
from overrides import overrides

UNSEEN = -1
"""The index of a gold label that the vocabulary lacks."""


class TagsField(SequenceLabelField):
    """A `SequenceLabelField` for gold labels that need not be in the vocabulary: they get the index `UNSEEN`.

    So a model can be evaluated on data with labels that its training data lack (they are never right).
    """

    __slots__: List[str] = []

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        if self._skip_indexing:  # the labels are indices
            return
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._indexed_labels = [known.get(str(label), UNSEEN) for label in self.labels]
