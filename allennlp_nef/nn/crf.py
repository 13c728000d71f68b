"""The linear-chain conditional random field: likelihood, Viterbi decoding and marginal probabilities.

The score of the tags y of a sentence x of L words is

    s(x, y) = start[y_1] + sum_i emissions[i, y_i] + sum_i transitions[y_(i-1), y_i] + end[y_L],

and P(y | x) = exp(s(x, y)) / Z(x), where Z(x) sums exp(s(x, y)) over all taggings of x (Lafferty et al., ICML 2001).

The functions take

    emissions : `Tensor`, (batch, tokens, tags)
        Values in padding are ignored, even NaN.
    mask : `torch.BoolTensor`, (batch, tokens)
        True = word. Padding is on the right.
    chain : `LinearChain`

and compute in at least float32. They take O(tokens * tags^2) time.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from allennlp_nef.nn.util import in_float32_at_least, zero_padding

# The score of a forbidden transition. It is finite so that no gradient is NaN.
FORBIDDEN = -1e30


class LinearChain(NamedTuple):
    """The parameters of the chain. A tag or transition is ruled out by the score `FORBIDDEN`."""

    transitions: Tensor
    """(tags, tags), from the tag of the row to the tag of the column."""
    start: Tensor
    """(tags,)"""
    end: Tensor
    """(tags,)"""


def log_likelihood(emissions: Tensor, mask: Tensor, chain: LinearChain, tags: Tensor) -> Tensor:
    """log P(tags | words) of each sentence, (batch,); 0 for a sentence without words.

    `tags` are the gold tags, (batch, tokens), with any valid index in padding. For a word with a negative index, the
    probability is summed over all tags.
    """
    is_known = tags >= 0
    if is_known.all():  # on a GPU, waiting for this is faster than the second loop below
        scores = score(emissions, mask, chain, tags)
    else:
        all_tags = torch.arange(emissions.size(-1), device=tags.device)
        others = is_known.unsqueeze(-1) & (tags.unsqueeze(-1) != all_tags)  # (batch, tokens, tags)
        known = in_float32_at_least(emissions).masked_fill(others, FORBIDDEN)
        scores = log_partition(known, mask, chain)
    return (scores - log_partition(emissions, mask, chain)).masked_fill(~mask[:, 0], 0)


def score(emissions: Tensor, mask: Tensor, chain: LinearChain, tags: Tensor) -> Tensor:
    """s(x, y) of the given tags, (batch, tokens), for each sentence: (batch,)."""
    emissions, (transitions, start, end) = _prepare(emissions, mask, chain)
    emitted = emissions.gather(-1, tags.unsqueeze(-1)).squeeze(-1)  # (batch, tokens)
    moved = transitions[tags[:, :-1], tags[:, 1:]].masked_fill(~mask[:, 1:], 0)
    last_word = (mask.sum(-1, keepdim=True) - 1).clamp(min=0)
    last_tag = tags.gather(1, last_word).squeeze(1)  # (batch,)
    return start[tags[:, 0]] + emitted.sum(-1) + moved.sum(-1) + end[last_tag]


def log_partition(emissions: Tensor, mask: Tensor, chain: LinearChain) -> Tensor:
    """Returns log Z(x) of each sentence: (batch,)."""
    emissions, chain = _prepare(emissions, mask, chain)
    # Numbers close to 0 keep the gradient accurate.
    highest = emissions.detach().amax(-1, keepdim=True)
    emissions = emissions - highest
    messages, offset = _backward(emissions, mask, chain)
    first = chain.start + emissions[:, 0] + messages[:, 0]
    return first.logsumexp(-1) + offset + highest.sum((1, 2))


def viterbi(emissions: Tensor, mask: Tensor, chain: LinearChain) -> Tensor:
    """Returns the tags with the highest score, (batch, tokens), long; 0 in padding.

    Among several best taggings, the last word gets the tag with the lowest index, then the word before it, and so on.
    """
    emissions, (transitions, start, end) = _prepare(emissions, mask, chain)
    tokens = emissions.size(1)
    # For each word, the score of the best tagging of the words so far that ends in each tag: (batch, tags).
    best = [start + emissions[:, 0]]
    for i in range(1, tokens):
        # (batch, from, 1) + (from, to), maximized over from
        extended = (best[-1].unsqueeze(2) + transitions).amax(1) + emissions[:, i]
        best.append(torch.where(mask[:, i, None], extended, best[-1]))
    # From the last word back, the best tag before the chosen one. Padding carries the tag of the last word. Computing
    # these tags here is faster than storing all of them above.
    tag = (best[-1] + end).argmax(-1)  # (batch,)
    path = [tag]
    for i in range(tokens - 1, 0, -1):
        previous = (best[i - 1] + transitions.t()[tag]).argmax(-1)
        tag = torch.where(mask[:, i], previous, tag)
        path.append(tag)
    return torch.stack(path[::-1], dim=1).masked_fill(~mask, 0)


def marginals(
    emissions: Tensor, mask: Tensor, chain: LinearChain, tags: Tensor
) -> tuple[Tensor, Tensor]:
    """The probabilities of all tags, and of those that follow the given tags, (batch, tokens).

    Words in a chain depend only on their neighbors, so P(y_(i+1) = k | x) is the sum over j of P(y_i = j | x) P(y_(i+1)
    = k | y_i = j, x), and the tags of adjacent words have the probability P(y_i, ..., y_j | x) = P(y_i | x) P(y_(i+1) |
    y_i, x) ... P(y_j | y_(j-1), x).

    # Returns

    `tuple[Tensor, Tensor]`
        P(y_i = k | x), the probability of each tag of each word: (batch, tokens, tags); 0 in padding.
        P(y_(i+1) = k | y_i = tags_i, x): (batch, tokens - 1, tags); 0 where the next word is padding.
    """
    emissions, chain = _prepare(emissions, mask, chain)
    scores = emissions + _backward(emissions, mask, chain)[0]  # of a tag and all that can follow it
    table = [(chain.start + scores[:, 0]).softmax(-1)]  # (batch, tags)
    following = [scores[:, :0]]
    for i in range(1, emissions.size(1)):
        after = (chain.transitions + scores[:, i, None]).softmax(-1)  # (batch, from, to)
        following.append(after[range(len(tags)), tags[:, i - 1], None])  # (batch, 1, to)
        # A matrix product would be in bfloat16 under autocast. The sum is 1 but for rounding, which would add up.
        probabilities = (table[-1].unsqueeze(2) * after).sum(1)
        table.append(probabilities / probabilities.sum(-1, keepdim=True))
    return (
        zero_padding(torch.stack(table, dim=1), mask),
        zero_padding(torch.cat(following, dim=1), mask[:, 1:]),
    )


def _backward(emissions: Tensor, mask: Tensor, chain: LinearChain) -> tuple[Tensor, Tensor]:
    """Returns the backward messages: for each word and tag, log sum exp of the scores of all continuations.

    Their maximum is subtracted at each word so that long sentences lose no precision.

    # Returns

    `tuple[Tensor, Tensor]`
        The messages (batch, tokens, tags), and the amount subtracted from those of the first word, (batch,).
    """
    message = chain.end.expand_as(emissions[:, 0])  # (batch, tags)
    offset = emissions.new_zeros(len(emissions))
    messages = [message]
    for i in range(emissions.size(1) - 1, 0, -1):
        # (from, to) + (batch, 1, to), summed over to
        extended = chain.transitions + (emissions[:, i] + message).unsqueeze(1)
        message = torch.where(mask[:, i, None], extended.logsumexp(2), message)
        highest = message.detach().amax(-1)
        message, offset = message - highest.unsqueeze(-1), offset + highest
        messages.append(message)
    return torch.stack(messages[::-1], dim=1), offset


def _prepare(emissions: Tensor, mask: Tensor, chain: LinearChain) -> tuple[Tensor, LinearChain]:
    """Emissions with 0 in padding, and the parameters, in float32 at least."""
    emissions = zero_padding(in_float32_at_least(emissions), mask)
    return emissions, LinearChain(*(parameter.to(emissions.dtype) for parameter in chain))
