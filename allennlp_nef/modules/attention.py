"""Attentions of AllenNLP with upper bounds."""

from collections.abc import Callable
from typing import ClassVar

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.attention import Attention
from overrides import overrides

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax


class BoundedAttention(Attention):
    """Attention with any similarity of AllenNLP and with upper bounds: no row gets more than its bound.

    # Parameters

    similarity : `Attention`
        Gives the scores (`dot_product`, `bilinear`, `additive`, ...); its own normalization is not used.
    upper_bound : `float`, optional (default = `1.0`)
        In (0, 1]: the bound of each row where a call gives no bounds. With fewer rows than 1 / upper_bound, the weights
        could not sum to 1. Then the bound is 1 / rows.
    """

    function: ClassVar[Callable[..., torch.Tensor]]
    """Scores, bounds and mask -> weights."""

    def __init__(self, similarity: Attention, upper_bound: float = 1.0) -> None:
        super().__init__(normalize=True)
        if not 0 < upper_bound <= 1:
            raise ConfigurationError(
                f"upper_bound: expected a number above 0 and up to 1, got {upper_bound}"
            )
        self.similarity = similarity
        self.upper_bound = upper_bound

    @overrides(check_signature=False)
    def forward(
        self,
        vector: torch.Tensor,
        matrix: torch.Tensor,
        matrix_mask: torch.Tensor | None = None,
        upper_bounds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """
        # Parameters

        vector : `torch.Tensor`, (batch, vector_dim)
        matrix : `torch.Tensor`, (batch, rows, matrix_dim)
        matrix_mask : `torch.BoolTensor`, (batch, rows), optional (default = `None`)
        upper_bounds : `torch.Tensor`, (batch, rows), optional (default = `None`)
            Non-negative; `ValueError` if those of a batch element sum to less than 1.

        # Returns

        `torch.Tensor`, (batch, rows): the weights, at most the bounds, 0 where masked, with a sum of 1.
        """
        scores = self.similarity._forward_internal(vector, matrix)
        if upper_bounds is None:
            upper_bounds = self._default_bounds(scores, matrix_mask)
        return self.function(scores, upper_bounds, matrix_mask)

    def _default_bounds(self, scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        rows = torch.ones_like(scores) if mask is None else mask.to(scores.dtype)
        fair_share = rows.sum(-1, keepdim=True).clamp(min=1).reciprocal()
        return fair_share.clamp(min=self.upper_bound).expand_as(scores)


@Attention.register("csoftmax")
class ConstrainedSoftmaxAttention(BoundedAttention):
    """Attention with any similarity of AllenNLP and a constrained softmax: no row gets more than its bound.

    Proposition 1 of Martins & Kreutzer (EMNLP 2017). Registered as an `Attention` with name "csoftmax". Parameters: see
    `BoundedAttention`.
    """

    function = staticmethod(constrained_softmax)


@Attention.register("csparsemax")
class ConstrainedSparsemaxAttention(BoundedAttention):
    """Attention with any similarity of AllenNLP and a constrained sparsemax: `csoftmax` with exact zeros.

    Malaviya, Ferreira & Martins (ACL 2018). Registered as an `Attention` with name "csparsemax". Parameters: see
    `BoundedAttention`.
    """

    function = staticmethod(constrained_sparsemax)
