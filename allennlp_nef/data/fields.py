"""Fields that AllenNLP does not have."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from collections.abc import Sequence
from typing import Any

import numpy
import torch
from allennlp.data import Vocabulary
from allennlp.data.fields import LabelField, SequenceLabelField, TensorField
from overrides import overrides

from allennlp_nef.data.word_similarity import similarity_matrix
from allennlp_nef.errors import DataFormatError, quote

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


class ClassField(LabelField):
    """
    The label of a sentence or of a pair, a `LabelField` in the namespace "labels".

    # Parameters

    label : `str`
    place : `str`, optional (default = `None`)
        `file:line`, where it comes from a file.

    # Raises

    `DataFormatError`, when it is indexed: a label that the vocabulary, which is that of the training data, lacks.
    """

    __slots__ = ["place"]

    def __init__(self, label: str, place: str | None = None) -> None:
        super().__init__(label)
        self.place = place

    @overrides
    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        if self.label not in known:
            raise DataFormatError(
                f"{self.place or 'label'}: expected a label of the training data, {', '.join(known)}, got "
                f"{quote(self.label)}"
            )
        super().index(vocab)


class NumberField(TensorField):
    """
    A number; a batch of them is a `torch.FloatTensor` (batch,).

    It is pickled as a Python number. A pickled tensor would hold one open file an instance.

    # Parameters

    number : `float`
    """

    __slots__ = ["number"]

    def __init__(self, number: float) -> None:
        super().__init__(torch.tensor(number, dtype=torch.float))
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return NumberField, (self.number,)


class AlignmentField(TensorField):
    """
    A word alignment as a bool matrix (target words, source words), True where aligned; a batch is
    padded with False to (batch, target tokens, source tokens).

    It is pickled as its pairs. A pickled tensor would hold one open file an instance, and a loader
    with worker processes would fail at the usual limit of 1,024 open files.

    # Parameters

    alignments : `Sequence[tuple[int, int]]`
        Pairs (source index, target index), from 0 and inside the sentences. May be empty.
    target_length : `int`
        Number of target words.
    source_length : `int`
        Number of source words.
    """

    __slots__ = ["alignments"]

    def __init__(
        self, alignments: Sequence[tuple[int, int]], target_length: int, source_length: int
    ) -> None:
        matrix = numpy.zeros((target_length, source_length), dtype=bool)
        if alignments:
            sources, targets = zip(*alignments)
            matrix[targets, sources] = True
        super().__init__(matrix, padding_value=False)
        self.alignments = alignments

    def __reduce__(self) -> tuple[Any, ...]:
        return AlignmentField, (self.alignments, *self.tensor.shape)


class SimilarityField(TensorField):
    """How alike target and source words are: the `similarity_matrix`, 8-bit integers (target words, source words).

    A batch is padded with 0 to (batch, target tokens, source tokens). It is pickled as its words, for the reason that
    `AlignmentField` is pickled as its pairs.

    # Parameters

    target, source : `list[str]`
        Words.
    """

    __slots__ = ["source", "target"]

    def __init__(self, target: list[str], source: list[str]) -> None:
        super().__init__(similarity_matrix(target, source), padding_value=0)
        self.target = target
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return SimilarityField, (self.target, self.source)
