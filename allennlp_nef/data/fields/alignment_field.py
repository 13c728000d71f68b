from collections.abc import Sequence
from typing import Any

import numpy
from allennlp.data.fields import TensorField


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
