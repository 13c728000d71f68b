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

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch.nn.functional import linear, pad

from allennlp_nef.nn.util import float32_at_least, zero_padding


class SketchState(NamedTuple):
    """What an attention transform can use, beside the scores. It holds only the sentences that do this step."""

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


class SketchResult(NamedTuple):
    sketches: torch.Tensor
    """s^N: (batch, tokens, sketch_dim), 0 in padding."""
    attention: torch.Tensor | None
    """alpha of all steps: (batch, steps, tokens), 0 after the last step of a sentence. None without `trace`."""
    history: torch.Tensor | None
    """s^1 to s^N: (batch, steps, tokens, sketch_dim), constant after the last step of a sentence."""


Attend = Callable[[torch.Tensor, SketchState], torch.Tensor]
"""Attention scores z (batch, tokens) and the state -> attention weights alpha (batch, tokens)."""
ScoreUpdates = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""The update t_i that each word would get (batch, tokens, sketch_dim), and the positions of these sentences in the
whole batch (batch,) -> the best tag score of each word after the update (batch, tokens)."""


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
    num_steps: torch.Tensor,
    context_size: int,
    single: bool = False,
    score_updates: ScoreUpdates | None = None,
    trace: bool = False,
) -> SketchResult:
    """Computes the sketches of a batch. It waits for the device once, to read the number of steps.

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
    num_steps : `torch.LongTensor`, (batch,)
        N of each sentence.
    context_size : `int`
        The number of words on each side of a window.
    single : `bool`, optional (default = `False`)
        NEF-S (Eq. 4) instead of NEF-F (Eq. 7).
    score_updates : `ScoreUpdates`, optional (default = `None`)
        For transforms that choose words by tag scores (Algorithm 1).
    trace : `bool`, optional (default = `False`)
        Whether to return the attention and the sketches of all steps.
    """
    dim = len(attention_vector)  # the first columns, those of the attention
    vector = attention_vector.to(preactivation.dtype)
    # (sketch_dim, window * rows): maps t to what it adds to a, for each place in a window.
    by_place = sketch_weight.unflatten(1, (2 * context_size + 1, -1)).permute(2, 1, 0).flatten(1)
    # Sentences with more steps come first, so that the ones that still have steps are a slice.
    num_steps, order = num_steps.sort(descending=True, stable=True)
    steps = num_steps.tolist()
    last = max([1, *steps]) - 1
    p, is_word = preactivation.index_select(0, order), mask[order]
    lengths = is_word.sum(-1)
    sketches = p.new_zeros(*mask.shape, len(sketch_weight) - dim)  # s^0
    coverage = torch.zeros_like(mask, dtype=float32_at_least(p.dtype))
    # W_s * s^0 is zero. A single step computes it all the same: distributed training needs a gradient of W_s.
    a = p if last else p + linear(windows(sketches, context_size), sketch_weight)
    finished: list[torch.Tensor] = []
    attention, history = [], []
    for step in range(last + 1):
        active = sum(step < n for n in steps)
        if active < len(sketches):
            finished.insert(0, sketches[active:])
            carried = p, a, is_word, lengths, sketches, coverage
            p, a, is_word, lengths, sketches, coverage = (x[:active] for x in carried)
        a_s = a[..., dim:]
        hidden = (a[..., :dim] if single else a).tanh()  # one call for both halves of NEF-F
        z = (hidden[..., :dim] @ vector).to(coverage.dtype)  # (batch, tokens)
        scorer = score_updates and partial(_tag_scores, score_updates, a_s, order[:active])
        alpha = attend(z, SketchState(step, coverage, is_word, lengths, scorer)).to(coverage.dtype)
        coverage = coverage + alpha
        weights = alpha.to(p.dtype).unsqueeze(-1)  # (batch, tokens, 1)
        # (batch, tokens, sketch_dim); for NEF-S (batch, 1, sketch_dim)
        t = (weights.transpose(1, 2) @ a_s).tanh() if single else hidden[..., dim:]
        sketches = torch.addcmul(sketches, weights, t)
        if trace:
            attention.append(pad(alpha, (0, 0, 0, len(order) - active)))
            history.append(torch.cat([sketches, *finished]))
        if step < last and single:  # the step adds the rank-one term alpha t^T to s
            columns = (t.squeeze(1) @ by_place).unflatten(1, (-1, len(sketch_weight)))
            a = a.baddbmm(windows(weights, context_size), columns)
        elif step < last:
            a = p + linear(windows(sketches, context_size), sketch_weight)
    restored = order.argsort()
    sketches = torch.cat([sketches, *finished]).index_select(0, restored)
    sketches = zero_padding(sketches, mask)  # already 0; this stops the gradients of padding
    if not trace:
        return SketchResult(sketches, None, None)
    stacked = (torch.stack(tensors, 1)[restored] for tensors in (attention, history))
    return SketchResult(sketches, *stacked)


@torch.no_grad()
def _tag_scores(score: ScoreUpdates, a_s: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    return score(a_s.tanh(), positions)
