"""The sketch recursion of the neural easy-first tagger.

Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017), Algorithm 2,
Equations 1 to 7.

The affine map of a concatenation is a sum: ``W concat(window of h, window of s) = W_h * h + W_s * s``. The first term
is the same in all steps. The caller computes it once, for the attention (Eq. 2) and the sketch (Eqs. 4 and 7) together,
and passes it as the *pre-activation* p, whose first columns belong to the attention. Step n computes

    a = p + W_s * s                       its columns for the attention are a_z, those for the sketch a_s
    z_i = v . tanh(a_z,i)                                                                      (Eq. 2)
    alpha = rho(z, beta)                                                                       (Eq. 3)
    s_i += alpha_i t_i                    NEF-F: t_i = tanh(a_s,i)                             (Eq. 7)
                                          NEF-S: t_i = tanh(sum_j alpha_j a_s,j) for all i     (Eq. 4)
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch.nn.functional import linear, pad

from allennlp_nef.nn.util import float32_at_least


class SketchState(NamedTuple):
    """What an attention transform can use besides the scores.

    Sentences that have finished their steps stay in the batch. A transform must return finite weights for them as well,
    which are then set to 0.
    """

    step: int
    """The number of completed steps, n - 1."""
    coverage: torch.Tensor
    """beta, the sum of the attention to each word so far: (batch, tokens), in float32 at least."""
    mask: torch.Tensor
    """(batch, tokens), bool, True = keep."""
    lengths: torch.Tensor
    """The number of words of each sentence: (batch,)."""
    tag_scores: Callable[[], torch.Tensor] | None = None
    """Returns the best tag score that each word would have after an update in this step: (batch, tokens), without
    gradient. None if there is no output layer to score with."""


Attend = Callable[[torch.Tensor, SketchState], torch.Tensor]
"""Attention scores z (batch, tokens) and the state -> attention weights alpha (batch, tokens)."""
ScoreUpdates = Callable[[torch.Tensor], torch.Tensor]
"""The pre-activations of the update that each word would get (batch, tokens, sketch_dim) -> its best tag score after
the update (batch, tokens), without gradient."""


def windows(states: torch.Tensor, context_size: int) -> torch.Tensor:
    """Concatenates the states of each word and of `context_size` words on each side, from left to right (Eq. 1).

    (batch, tokens, dim) -> (batch, tokens, (2 * context_size + 1) * dim). Outside the sentence, states are zero.
    """
    tokens = states.size(1)
    padded = pad(states, (0, 0, context_size, context_size))
    return torch.cat([padded[:, i : i + tokens] for i in range(2 * context_size + 1)], dim=-1)


def sketch(
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    attend: Attend,
    mask: torch.Tensor,
    active: Sequence[int],
    context_size: int,
    single: bool = False,
    score_updates: ScoreUpdates | None = None,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields the attention and the sketches after each step of a batch. It never waits for the device.

    # Parameters

    preactivation : `torch.Tensor`, (batch, tokens, preattention_dim + sketch_dim)
        p, finite in padding too.
    sketch_weight : `torch.Tensor`, (preattention_dim + sketch_dim, (2 * context_size + 1) * sketch_dim)
        W_s.
    attention_vector : `torch.Tensor`, (preattention_dim,)
        v.
    attend : `Attend`
        rho.
    mask : `torch.BoolTensor`, (batch, tokens)
    active : `Sequence[int]`
        How many sentences, the first ones of the batch, are computed in each of the N steps; it never grows. Leave out
        only finished sentences: a sentence takes at most as many steps as it has words; after that, its attention is 0.
    context_size : `int`
        The number of words on each side of a window.
    single : `bool`, optional (default = `False`)
        NEF-S (Eq. 4) instead of NEF-F (Eq. 7).
    score_updates : `ScoreUpdates`, optional (default = `None`)
        For transforms that choose words by tag scores (Algorithm 1).

    # Yields

    `tuple[torch.Tensor, torch.Tensor]`
        - alpha, (batch, tokens), in float32 at least.
        - s^n, (batch, tokens, sketch_dim); 0 in padding.
    """
    p, dim, last = preactivation, len(attention_vector), len(active) - 1
    # (sketch_dim, window * rows): maps t to what it adds to a, for each place in a window.
    by_place = sketch_weight.unflatten(1, (2 * context_size + 1, -1)).permute(2, 1, 0).flatten(1)
    lengths = mask.sum(-1)
    sketches = p.new_zeros(*mask.shape, len(sketch_weight) - dim)  # s^0
    coverage = torch.zeros_like(mask, dtype=float32_at_least(p.dtype))
    finished = sketches[:0]  # of the sentences that are no longer computed
    # W_s * s^0 is zero. A single step computes it anyway: distributed training needs a gradient for W_s.
    a = p if last else p + linear(windows(sketches, context_size), sketch_weight)
    for step, number in enumerate(active):
        if number < p.size(0):
            finished = torch.cat([sketches[number:], finished])
            p, a, mask, lengths, sketches, coverage = (
                each[:number] for each in (p, a, mask, lengths, sketches, coverage)
            )
        scorer = score_updates and partial(score_updates, a[..., dim:])
        state = SketchState(step, coverage, mask, lengths, scorer)
        alpha, t = attention_and_update(a, attention_vector, attend, state, single)
        coverage = coverage + alpha
        weights = alpha.to(p.dtype).unsqueeze(-1)  # (batch, tokens, 1)
        sketches = torch.addcmul(sketches, weights, t)
        if finished.size(0):
            yield pad(alpha, (0, 0, 0, finished.size(0))), torch.cat([sketches, finished])
        else:
            yield alpha, sketches
        if step < last and single:  # the step adds the rank-one term alpha t^T to s
            columns = (t.squeeze(1) @ by_place).unflatten(1, (-1, len(sketch_weight)))
            a = a.baddbmm(windows(weights, context_size), columns)
        elif step < last:
            a = p + linear(windows(sketches, context_size), sketch_weight)


def attention_and_update(
    a: torch.Tensor,
    attention_vector: torch.Tensor,
    attend: Attend,
    state: SketchState,
    single: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """alpha (batch, tokens) and t (batch, tokens, sketch_dim) of a step; for NEF-S, t is (batch, 1, sketch_dim).

    For `a` see above: (batch, tokens, preattention_dim + sketch_dim).
    """
    dim = len(attention_vector)  # the first columns, those of the attention
    a_s = a[..., dim:]
    hidden = (a[..., :dim] if single else a).tanh()  # one call for both halves of NEF-F
    z = (hidden[..., :dim] @ attention_vector.to(a.dtype)).to(state.coverage.dtype)
    is_done = (state.step >= state.lengths).unsqueeze(-1)
    alpha = attend(z, state).to(z.dtype).masked_fill(is_done, 0)
    if single:
        return alpha, (alpha.to(a.dtype).unsqueeze(1) @ a_s).tanh()
    return alpha, hidden[..., dim:]
