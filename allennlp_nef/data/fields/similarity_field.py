from typing import Any

from allennlp.data.fields import TensorField

from allennlp_nef.data.word_similarity import similarity_matrix


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
