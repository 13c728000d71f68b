"""AllenNLP attentions with upper bounds."""

from collections.abc import Callable
from typing import ClassVar

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.attention import Attention

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax


@Attention.register("csoftmax")
class ConstrainedSoftmaxAttention(Attention):
    """Attention with any AllenNLP similarity and a constrained softmax: no position gets more than its bound.

    Proposition 1 of Martins & Kreutzer (EMNLP 2017).

    # Parameters

    similarity : `Attention`
        Computes the scores (`dot_product`, `bilinear`, `additive`, ...). Its own normalization is not used.
    upper_bound : `float`, optional (default = `1.0`)
        In (0, 1]: the bound of each row if a call gives no bounds. With fewer rows than 1 / upper_bound, it is 1 / rows
        so that the weights can sum to 1.
    """

    function: ClassVar[Callable[..., torch.Tensor]] = staticmethod(constrained_softmax)

    def __init__(self, similarity: Attention, upper_bound: float = 1.0) -> None:
        super().__init__(normalize=True)
        if not 0 < upper_bound <= 1:
            raise ConfigurationError(f"upper_bound must be in (0, 1], got {upper_bound}")
        self.similarity = similarity
        self.upper_bound = upper_bound

    def forward(
        self,
        vector: torch.Tensor,
        matrix: torch.Tensor,
        matrix_mask: torch.Tensor | None = None,
        upper_bounds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Returns the weights (batch, rows): at most the bounds, 0 where masked, summing to 1.

        # Parameters

        vector : `torch.Tensor`, (batch, vector_dim)
        matrix : `torch.Tensor`, (batch, rows, matrix_dim)
        matrix_mask : `torch.BoolTensor`, (batch, rows), optional (default = `None`)
        upper_bounds : `torch.Tensor`, (batch, rows), optional (default = `None`)
            At least 0. Bounds of a batch element that sum to less than 1 raise a `ValueError`.
        """
        scores = self.similarity._forward_internal(vector, matrix)
        if upper_bounds is None:
            rows = torch.ones_like(scores) if matrix_mask is None else matrix_mask.to(scores)
            fair_share = rows.sum(-1, keepdim=True).clamp(min=1).reciprocal()
            upper_bounds = fair_share.clamp(min=self.upper_bound)
        return self.function(scores, upper_bounds, matrix_mask)


@Attention.register("csparsemax")
class ConstrainedSparsemaxAttention(ConstrainedSoftmaxAttention):
    """Attention with a constrained sparsemax: `csoftmax` with exact zeros. Parameters: see there.

    Malaviya, Ferreira & Martins (ACL 2018).
    """

    function = staticmethod(constrained_sparsemax)
