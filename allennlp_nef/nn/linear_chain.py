"""Inference in a linear-chain conditional random field: the best tagging, and marginal probabilities.

The score of a tagging y of L words is
``start[y_1] + sum_i emissions[i, y_i] + sum_i transitions[y_(i-1), y_i] + end[y_L]``, its probability proportional to
the exponential of the score. Every function takes

    emissions : `torch.Tensor`, (batch, tokens, tags)
        Values in padding have no effect, NaN included.
    mask : `torch.BoolTensor`, (batch, tokens)
        True = keep; padding at the end.
    transitions : `torch.Tensor`, (tags, tags)
        From the tag of the row to the tag of the column.
    start, end : `torch.Tensor`, (tags,)

of any floating types, and computes in float32 at least. It raises a `ValueError` where shapes do not agree, and, on
CPUs, where a word comes after padding. Minus infinity in `transitions`, `start` or `end` forbids a
transition. It counts as -1e30, so that no result is NaN. Where every tagging of a sentence is forbidden, those with the
fewest forbidden transitions are the best, and share the probability. Each function is O(tokens * tags^2) and never
synchronizes a device.
"""

from typing import Any

import numpy as np
import torch
from torch.nn import functional

from allennlp_nef.nn._kernels import have_kernels
from allennlp_nef.nn.numerics import differentiable_once, float32_at_least, zero_padding

FORBIDDEN = -1e30
# On a CPU the sums of a word in Viterbi's algorithm are computed for at most this many numbers at once: its cache.
MAX_BLOCK_NUMBERS = 1 << 21
# Reductions of rows whose length is not a multiple of this are far slower.
ROW_MULTIPLE = 32

Tensors = tuple[torch.Tensor, ...]


def viterbi(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
) -> torch.Tensor:
    """The best tagging of each sentence. Ties go to the tag with the lowest index, from the last word to the first.

    # Returns

    `torch.LongTensor`, (batch, tokens), 0 in padding; without gradient.
    """
    if not mask.numel():
        return torch.zeros_like(mask, dtype=torch.long)
    with torch.no_grad():
        chain = _prepared(emissions, mask, transitions, start, end)
        if _have_kernels(chain):
            return _compiled_viterbi(mask, chain)
        emissions, transitions, start, end = chain
        tokens, tags = emissions.shape[1:]
        extra = -tags % ROW_MULTIPLE
        into = functional.pad(transitions.t().contiguous(), (0, extra), value=FORBIDDEN)
        scores = _best_scores(emissions.transpose(0, 1), into, start)
        last = mask.sum(-1) - 1  # -1, which is any word, where there are no words
        rows = torch.arange(len(mask), device=mask.device)
        tag = (scores[last, rows, :tags] + end).argmax(-1)
        path = [tag]
        for i in range(tokens - 1, 0, -1):
            before = (scores[i - 1] + into[tag]).argmax(-1)
            tag = torch.where(mask[:, i], before, tag)  # padding carries the tag of the last word
            path.append(tag)
        return torch.stack(path[::-1], dim=1).masked_fill(~mask, 0)


def _best_scores(emissions: torch.Tensor, into: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """The score of the best tagging that ends at each word in each tag, up to a constant for each word.

    Emissions (tokens, batch, tags) and transitions (to, from), where from is padded -> (tokens, batch, from).
    """
    tokens, batch, tags = emissions.shape
    scores = emissions.new_full((tokens, batch, into.size(1)), FORBIDDEN)
    scores[0, :, :tags] = start + emissions[0]
    block = max(1, MAX_BLOCK_NUMBERS // into.numel()) if emissions.device.type == "cpu" else batch
    sums = into.new_empty(min(block, batch), *into.shape)  # (block, to, from)
    for i in range(1, tokens):
        current = scores[i, :, :tags]
        for before, best in zip(scores[i - 1].split(block), current.split(block)):
            filled = torch.add(before.unsqueeze(1), into, out=sums[: len(before)])
            torch.amax(filled, -1, out=best)
        current += emissions[i]
        current -= current.amax(-1, keepdim=True)  # so that long sentences lose no precision
    return scores


def token_marginals(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
) -> torch.Tensor:
    """The probability of each tag at each word, by the forward-backward algorithm.

    # Returns

    `torch.Tensor`, (batch, tokens, tags), with a sum of 1 over the tags of a word, and 0 in padding.
    """
    if not mask.numel():
        return torch.zeros_like(emissions)
    return _marginals(mask, *_messages(mask, _prepared(emissions, mask, transitions, start, end)))


def transition_probabilities(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    tags: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Marginal and transition probabilities, from one forward-backward pass.

    They give the probability of the tags of several adjacent words, since the chain is Markov given the words:
    P(y_i, ..., y_j) = P(y_i) P(y_(i+1) | y_i) ... P(y_j | y_(j-1)).

    # Parameters

    tags : `torch.LongTensor`, (batch, tokens)
        The tags that the transition probabilities are conditioned on; in padding, any index.

    # Returns

    `tuple[torch.Tensor, torch.Tensor]`
        - (batch, tokens, tags): the `token_marginals`.
        - (batch, tokens - 1, tags): the probability of each tag at the next word, given the tag of this word in
          `tags`; 0 where the next word is padding.
    """
    if not mask.numel():
        return torch.zeros_like(emissions), torch.zeros_like(emissions[:, 1:])
    chain = _prepared(emissions, mask, transitions, start, end)
    forward, backward = _messages(mask, chain)
    emissions, transitions = chain[:2]
    following = transitions[tags[:, :-1]] + emissions[:, 1:] + backward[:, 1:]
    following = following.softmax(-1).masked_fill(~mask[:, 1:].unsqueeze(-1), 0)
    return _marginals(mask, forward, backward), following


def _prepared(emissions: torch.Tensor, mask: torch.Tensor, *parameters: torch.Tensor) -> Tensors:
    """All tensors in one type, float32 at least: zeros in padding, finite numbers for forbidden transitions."""
    check_chain(mask, emissions, *parameters)
    dtype = float32_at_least(emissions.dtype)
    for parameter in parameters:
        dtype = torch.promote_types(dtype, parameter.dtype)
    emissions = zero_padding(emissions.to(dtype), mask)
    return (emissions, *(parameter.to(dtype).clamp(min=FORBIDDEN) for parameter in parameters))


def _marginals(mask: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor) -> torch.Tensor:
    return zero_padding((forward + backward).softmax(-1), mask)


def check_chain(
    mask: torch.Tensor,
    emissions: torch.Tensor,
    *parameters: torch.Tensor,
    tags: torch.Tensor | None = None,
) -> None:
    """Raises a `ValueError` where shapes do not agree, which kernels do not check, or a word comes after padding.

    The latter is not checked on other devices than CPUs, since it would synchronize them.
    """
    tagged = mask.shape if tags is None else tags.shape
    count = emissions.shape[-1]
    shapes = [tuple(each.shape) for each in parameters]
    is_right = (
        emissions.dim() == 3
        and emissions.shape[:2] == mask.shape == tagged
        and mask.dtype == torch.bool
        and count > 0
        and shapes == [(count, count), (count,), (count,)]
    )
    if not is_right:
        raise ValueError(
            "expected emissions (batch, tokens, tags), a Boolean mask and tags (batch, tokens), transitions (tags, "
            f"tags), start and end (tags,); got {tuple(emissions.shape)}, {mask.dtype} {tuple(mask.shape)}, "
            f"{tuple(tagged)}, {', '.join(map(str, shapes))}"
        )
    if mask.device.type == "cpu":
        has_gap = (mask[:, 1:] & ~mask[:, :-1]).any(-1)
        if bool(has_gap.any()):
            row = int(has_gap.int().argmax())
            raise ValueError(
                f"mask: expected padding at the end only, got a word after padding in row {row}"
            )


def _have_kernels(chain: Tensors) -> bool:
    needs_gradient = torch.is_grad_enabled() and any(each.requires_grad for each in chain)
    return not needs_gradient and have_kernels(*chain)


def _compiled_viterbi(mask: torch.Tensor, chain: Tensors) -> torch.Tensor:
    from allennlp_nef.nn._kernels import linear_chain

    path = torch.zeros(mask.shape, dtype=torch.long)
    linear_chain.viterbi(mask.sum(-1).numpy(), *_arrays(chain), path.numpy())
    return path


def _arrays(tensors: Tensors) -> list[np.ndarray]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _messages(mask: torch.Tensor, chain: Tensors) -> Tensors:
    """Forward and backward, (batch, tokens, tags) each, from the emissions, transitions, start and end."""
    emissions, transitions, start, end = chain
    if not _have_kernels(chain):
        forward = _forward(emissions, transitions, start)
        return forward, _backward(emissions, mask, transitions, end)
    from allennlp_nef.nn._kernels import linear_chain

    forward, backward = emissions.new_zeros(emissions.shape), emissions.new_zeros(emissions.shape)
    lengths = mask.sum(-1).numpy()
    linear_chain.messages(lengths, *_arrays(chain), forward.numpy(), backward.numpy())
    return forward, backward


def _forward(
    emissions: torch.Tensor, transitions: torch.Tensor, start: torch.Tensor
) -> torch.Tensor:
    """log sum exp over the taggings that end at each word in each tag, up to a constant for each word."""
    messages = [_minus_maximum(start + emissions[:, 0])]
    for i in range(1, emissions.size(1)):
        # (batch, from, 1) + (from, to), summed over from
        message = _log_sum_exp(messages[-1].unsqueeze(2) + transitions, 1) + emissions[:, i]
        messages.append(_minus_maximum(message))
    return torch.stack(messages, dim=1)


def _backward(
    emissions: torch.Tensor, mask: torch.Tensor, transitions: torch.Tensor, end: torch.Tensor
) -> torch.Tensor:
    """log sum exp over the taggings of the words after each word, up to a constant for each word."""
    batch, tokens, tags = emissions.shape
    messages: list[torch.Tensor] = [end.expand(batch, tags)]
    for i in range(tokens - 1, 0, -1):
        # (from, to) + (batch, 1, to), summed over to
        message = _log_sum_exp(transitions + (messages[-1] + emissions[:, i]).unsqueeze(1), 2)
        # The message to the last word is `end`: padding carries it there.
        messages.append(torch.where(mask[:, i, None], _minus_maximum(message), messages[-1]))
    return torch.stack(messages[::-1], dim=1)


def _minus_maximum(message: torch.Tensor) -> torch.Tensor:
    """A message minus its maximum. Otherwise messages would grow with the sentence, and lose precision."""
    return message - message.detach().amax(-1, keepdim=True)


def _log_sum_exp(scores: torch.Tensor, dim: int) -> torch.Tensor:
    """`torch.logsumexp` without exponentials that underflow: they add nothing, and are very slow on a CPU."""
    highest = scores.detach().amax(dim, keepdim=True)
    return (scores - highest).clamp(min=-80).exp().sum(dim).log() + highest.squeeze(dim)


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
