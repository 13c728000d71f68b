"""Marginals of a linear-chain conditional random field."""

import torch


def token_marginals(
    emissions: torch.Tensor,
    mask: torch.Tensor,
    transitions: torch.Tensor,
    start: torch.Tensor,
    end: torch.Tensor,
) -> torch.Tensor:
    """The probability of each tag at each word, by the forward-backward algorithm.

    The score of a tag sequence y of L words is
    ``start[y_1] + sum_i emissions[i, y_i] + sum_i transitions[y_(i-1), y_i] + end[y_L]``.
    O(tokens * tags^2).

    # Parameters

    emissions : `torch.Tensor`, (batch, tokens, tags)
        What is in padding has no effect.
    mask : `torch.BoolTensor`, (batch, tokens)
        True = keep; padding at the end.
    transitions : `torch.Tensor`, (tags, tags)
        From the row's tag to the column's.
    start, end : `torch.Tensor`, (tags,)

    # Returns

    `torch.Tensor`, (batch, tokens, tags): sums to 1 over the tags of a word, 0 in padding.
    """
    batch, tokens, tags = emissions.shape
    keep = mask.unsqueeze(-1)
    emissions = emissions.masked_fill(~keep, 0)
    forward = [start + emissions[:, 0]]
    for i in range(1, tokens):
        # (batch, from, 1) + (from, to), summed over from
        arrived = (forward[-1].unsqueeze(2) + transitions).logsumexp(1) + emissions[:, i]
        forward.append(torch.where(keep[:, i], arrived, forward[-1]))
    # What follows a word: its last word's is `end`; padding carries that to it.
    backward = [end.expand(batch, tags)]
    for i in range(tokens - 1, 0, -1):
        # (from, to) + (batch, 1, to), summed over to
        departed = transitions + (backward[-1] + emissions[:, i]).unsqueeze(1)
        backward.append(torch.where(keep[:, i], departed.logsumexp(2), backward[-1]))
    scores = torch.stack(forward, dim=1) + torch.stack(backward[::-1], dim=1)
    return scores.softmax(-1).masked_fill(~keep, 0)
