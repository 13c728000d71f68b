"""The log-likelihood of taggings in a linear chain, and its gradient, in compiled kernels."""

from typing import Any

import torch

from allennlp_nef.nn.linear_chain import check_chain
from allennlp_nef.nn.numerics import differentiable_once


class LogLikelihood(torch.autograd.Function):
    """log P(tags | words) of each sentence in the linear chain of `nn.linear_chain`, (batch,); 0 without words.

    It is what pytorch-crf computes. The gradient is in closed form: gold tags less marginal probabilities. It is
    differentiable once.

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

    `IndexError`: a tag is not an index of a tag. `ValueError`: the shapes do not agree, or a word comes after padding.
    `RuntimeError`, in the backward pass: a gradient that can be differentiated again was asked for.
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
        from allennlp_nef.nn._kernels import linear_chain

        check_chain(mask, emissions, transitions, start, end, tags=tags)
        if tags.numel():
            lowest, highest = int(tags.min()), int(tags.max())
            if lowest < 0 or highest >= len(start):
                raise IndexError(
                    f"tags: expected indices from 0 to {len(start) - 1}, got {lowest} to {highest}"
                )
        forward, constants = torch.empty_like(emissions), emissions.new_empty(mask.shape)
        result = emissions.new_empty(len(mask))
        needed = mask.sum(-1), tags, emissions, transitions, start, end, forward, constants
        tensors = [tensor.detach().contiguous() for tensor in needed]
        linear_chain.log_likelihoods(*(each.numpy() for each in tensors), result.numpy())
        # Those that the caller has, so that a change of them before the backward pass is an error.
        ctx.save_for_backward(emissions, transitions, start, end, *tensors)
        return result

    @staticmethod
    @differentiable_once("The loss of the CRF", ". ALLENNLP_NEF_NUMBA=0 gives one with more")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        from allennlp_nef.nn._kernels import linear_chain

        tensors = ctx.saved_tensors[4:]
        grads = [torch.zeros_like(tensor) for tensor in tensors[2:6]]
        arrays = [each.detach().numpy() for each in (*tensors, grad.contiguous(), *grads)]
        linear_chain.gradients(*arrays)
        return *grads, None, None
