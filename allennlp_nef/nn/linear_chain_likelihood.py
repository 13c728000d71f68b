"""The log-likelihood of taggings in a linear chain, and its gradient, in compiled kernels."""

from typing import Any, Tuple

import torch
from torch.autograd.function import once_differentiable


class LogLikelihood(torch.autograd.Function):
    """log P(tags | words) of each sentence in the linear chain of `nn.linear_chain`, (batch,); 0 without words.

    It is what pytorch-crf computes. The gradient is in closed form: gold tags less marginal probabilities.

    # Parameters

    emissions : `torch.FloatTensor`, (batch, tokens, tags)
        On a CPU, as the other three. Values in padding have no effect, NaN included.
    transitions : `torch.FloatTensor`, (tags, tags)
        From the tag of the row to the tag of the column.
    start, end : `torch.FloatTensor`, (tags,)
    mask : `torch.BoolTensor`, (batch, tokens)
        True = keep; padding at the end.
    tags : `torch.LongTensor`, (batch, tokens)
        In padding, too, an index of a tag.

    # Raises

    `IndexError`: a tag is not an index of a tag.
    """

    @staticmethod
    def forward(
        ctx: Any,
        emissions: torch.Tensor,
        transitions: torch.Tensor,
        start: torch.Tensor,
        end: torch.Tensor,
        mask: torch.Tensor,
        tags: torch.Tensor,
    ) -> torch.Tensor:
        from allennlp_nef.nn.kernels import linear_chain

        if tags.numel() and not 0 <= int(tags.min()) <= int(tags.max()) < len(start):
            raise IndexError(f"tags: expected indices from 0 to {len(start) - 1}, got others")
        tensors = mask.sum(-1), tags, emissions, transitions, start, end
        arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
        forward, constants = torch.empty(emissions.shape), torch.empty(mask.shape)
        result = torch.empty(len(mask))
        ctx.arrays = *arrays, forward.numpy(), constants.numpy()
        linear_chain.log_likelihoods(*ctx.arrays, result.numpy())
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        from allennlp_nef.nn.kernels import linear_chain

        grads = [torch.zeros(array.shape) for array in ctx.arrays[2:6]]
        results = [each.numpy() for each in grads]
        linear_chain.gradients(*ctx.arrays, grad.contiguous().numpy(), *results)
        return *grads, None, None
