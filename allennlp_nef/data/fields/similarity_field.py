from typing import Any, List, Tuple

from allennlp.data.fields import TensorField

from allennlp_nef.data.word_similarity import similarity_matrix


class SimilarityField(TensorField):
    """How alike target and source words are: the `similarity_matrix`, 8-bit integers (target words, source words).

    A batch is padded with 0 to (batch, target tokens, source tokens). It is pickled as its words, for the reason that
    `AlignmentField` is pickled as its pairs.

    # Parameters

    target, source : `List[str]`
        Words.
    """

    __slots__ = ["source", "target"]

    def __init__(self, target: List[str], source: List[str]) -> None:
        super().__init__(similarity_matrix(target, source), padding_value=0)
        self.target = target
        self.source = source

    def __reduce__(self) -> Tuple[Any, ...]:
        return SimilarityField, (self.target, self.source)
