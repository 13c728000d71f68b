"""The linear-chain conditional random field: log-likelihood, the best tagging, and marginal probabilities.

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

import torch
from torch.nn import functional

from allennlp_nef.nn.numerics import float32_at_least, zero_padding

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


def log_likelihoods(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
    tags: torch.Tensor,
) -> torch.Tensor:
    """log P(tags | words) of each sentence: the score of the tags less the logarithm of the sum over all taggings.

    # Parameters

    tags : `torch.LongTensor`, (batch, tokens)
        In padding, any index.

    # Returns

    `torch.Tensor`, (batch,); 0 without words.
    """
    if not mask.numel():
        return emissions.sum((1, 2))
    emissions, transitions, start, end = _prepared(emissions, mask, transitions, start, end)
    rows = torch.arange(len(mask), device=mask.device)
    last = (mask.sum(-1) - 1).clamp(min=0)
    gold = zero_padding(emissions.gather(-1, tags.unsqueeze(-1)), mask).sum((1, 2))
    steps = transitions[tags[:, :-1], tags[:, 1:]].masked_fill(~mask[:, 1:], 0).sum(-1)
    gold = gold + start[tags[:, 0]] + steps + end[tags[rows, last]]
    message = start + emissions[:, 0]
    for i in range(1, emissions.size(1)):
        # (batch, from, 1) + (from, to), summed over from
        following = _log_sum_exp(message.unsqueeze(2) + transitions, 1) + emissions[:, i]
        message = torch.where(mask[:, i, None], following, message)
    # A sentence without words has no gradient either.
    return (gold - _log_sum_exp(message + end, -1)).masked_fill(~mask[:, 0], 0)


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
) -> None:
    """Raises a `ValueError` where shapes do not agree, or a word comes after padding.

    The latter is not checked on other devices than CPUs, since it would synchronize them.
    """
    count = emissions.shape[-1]
    shapes = [tuple(parameter.shape) for parameter in parameters]
    is_right = (
        emissions.dim() == 3
        and emissions.shape[:2] == mask.shape
        and mask.dtype == torch.bool
        and count > 0
        and shapes == [(count, count), (count,), (count,)]
    )
    if not is_right:
        raise ValueError(
            "expected emissions (batch, tokens, tags), a Boolean mask (batch, tokens), transitions (tags, tags), "
            f"start and end (tags,); got {tuple(emissions.shape)}, {mask.dtype} {tuple(mask.shape)}, "
            f"{', '.join(map(str, shapes))}"
        )
    if mask.device.type == "cpu":
        has_gap = (mask[:, 1:] & ~mask[:, :-1]).any(-1)
        if bool(has_gap.any()):
            row = int(has_gap.int().argmax())
            raise ValueError(
                f"mask: expected padding at the end only, got a word after padding in row {row}"
            )


def _messages(mask: torch.Tensor, chain: Tensors) -> Tensors:
    """Forward and backward, (batch, tokens, tags) each, from the emissions, transitions, start and end."""
    emissions, transitions, start, end = chain
    forward = _forward(emissions, transitions, start)
    return forward, _backward(emissions, mask, transitions, end)


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
