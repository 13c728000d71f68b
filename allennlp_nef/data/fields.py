"""Fields for gold labels that may be missing, or missing from the vocabulary.

A label that the vocabulary or model lacks counts as an error in metrics and is ignored in losses.
"""

import logging
from collections.abc import Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields import SequenceField, SequenceLabelField

logger = logging.getLogger(__name__)

# The index of a gold label that is not in the vocabulary.
UNSEEN = -1
# The index of a word without a gold label. PyTorch's losses ignore it.
NO_LABEL = -100

_warned_namespaces: set[str] = set()


def labels_of(vocab: Vocabulary, namespace: str) -> list[str]:
    """Returns the labels that a model predicts, in the order of their indices.

    # Raises

    `ConfigurationError`: the namespace has no labels, or padding among them.
    """
    labels = vocab.get_index_to_token_vocabulary(namespace)
    if not labels or vocab.is_padded(namespace):
        raise ConfigurationError(
            f"label_namespace: the vocabulary has no labels in {namespace!r}, or padding among them"
        )
    return [labels[index] for index in range(len(labels))]


def gold_index(label: str, vocab: Vocabulary, namespace: str, unseen: int) -> int:
    """Returns the index of a gold label, or `unseen`; the first such label of a namespace is reported."""
    index = vocab.get_token_to_index_vocabulary(namespace).get(label, unseen)
    if index == unseen and namespace not in _warned_namespaces:
        _warned_namespaces.add(namespace)
        logger.warning(
            "The gold label %r is not in the vocabulary (%s). Such labels count as errors in scores and do not count "
            "in the loss. `allennlp-nef check-data` lists them.",
            *(label, namespace),
        )
    return index


class TagsField(SequenceLabelField):
    """A `SequenceLabelField` in which a label that the vocabulary does not contain has the index `UNSEEN`.

    A model can thus be evaluated on data with labels unseen in training, which it never predicts. An unannotated word,
    whose label is None, has the index `NO_LABEL` and is ignored in losses and scores.
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

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for label in () if self._skip_indexing else self.labels:
            if label is not None:
                counter[self._label_namespace][str(label)] += 1

    def index(self, vocab: Vocabulary) -> None:
        if self._skip_indexing:  # the labels are indices
            return
        self._indexed_labels = [
            NO_LABEL
            if label is None
            else gold_index(str(label), vocab, self._label_namespace, UNSEEN)
            for label in self.labels
        ]
