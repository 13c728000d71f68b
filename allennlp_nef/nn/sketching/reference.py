"""The sketch recursion in its plain form, with autograd and with a trace.

Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017), Algorithm 2,
Equations 1 to 7.

The affine map of a concatenation is a sum: ``W concat(window of h, window of s) = W_h * h + W_s * s``. The first term
does not change over the steps. The caller computes it once, for the attention (Eq. 2) and the sketch (Eqs. 4 and 7)
together. It is called the *pre-activation*; the columns of the attention come first.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch.nn import functional

from allennlp_nef.nn.numerics import float32_at_least


class SketchState(NamedTuple):
    """What an attention transform may use to compute the attention of a step."""

    step: int
    """n - 1: the number of steps done."""
    coverage: torch.Tensor
    """beta, the sum of the attention of each word so far: (batch, tokens), in float32 at least."""
    mask: torch.Tensor
    """(batch, tokens), bool, True = keep."""
    lengths: torch.Tensor
    """(batch,), the number of words of each sentence."""
    tag_scores: Callable[[], torch.Tensor] | None = None
    """Gives the best tag score that each word would have after an update in this step: (batch, tokens), no gradient.

    None where there is no output layer to score with.
    """


class SketchTrace(NamedTuple):
    """The attention and the sketches of every step. After the last step of a sentence its attention is 0 and its
    sketches do not change."""

    attention: torch.Tensor
    """alpha: (batch, steps, tokens)."""
    sketches: torch.Tensor
    """s^1 to s^N: (batch, steps, tokens, sketch_dim)."""
    num_steps: torch.Tensor
    """(batch,), the number of steps of each sentence."""


class SketchResult(NamedTuple):
    """What `sketch_full` and `sketch_single` return."""

    sketches: torch.Tensor
    """s^N: (batch, tokens, sketch_dim)."""
    trace: SketchTrace | None


ScoreUpdates = Callable[[torch.Tensor], torch.Tensor]
"""The update that each word would get (batch, tokens, sketch_dim) -> its best tag score after it (batch, tokens)."""

Attend = Callable[[torch.Tensor, SketchState], torch.Tensor]
"""Attention scores z (batch, tokens) and the state -> attention weights alpha (batch, tokens)."""


def windows(states: torch.Tensor, context_size: int) -> torch.Tensor:
    """The window of each word: its state and those of `context_size` words on each side (Eq. 1).

    (batch, tokens, dim) -> (batch, tokens, (2 * context_size + 1) * dim), from the leftmost word to the rightmost.
    Outside the sentence the states are zero.
    """
    if context_size == 0:
        return states
    tokens = states.size(1)
    padded = functional.pad(states, (0, 0, context_size, context_size))
    return torch.cat([padded[:, i : i + tokens] for i in range(2 * context_size + 1)], dim=-1)


class _Steps:
    """The attention of one step after the other, for both forms of the recursion."""

    def __init__(
        self,
        attend: Attend,
        mask: torch.Tensor,
        num_steps: torch.Tensor,
        dtype: torch.dtype,
        score_updates: ScoreUpdates | None,
    ) -> None:
        self._score_updates = score_updates
        self.attend, self.mask, self.lengths, self.num_steps = attend, mask, mask.sum(-1), num_steps
        self.count = max(
            1, int(num_steps.max())
        )  # one step without effect where all sentences are empty
        self._common_steps = int(num_steps.min())
        self._coverage = torch.zeros(mask.shape, dtype=float32_at_least(dtype), device=mask.device)

    def attention(
        self, step: int, scores: torch.Tensor, sketch_preactivation: torch.Tensor
    ) -> torch.Tensor:
        """The attention of a step, 0 in the sentences that are done. It is added to the coverage."""
        score = self._score_updates
        tag_scores = score and partial(_score_without_gradient, score, sketch_preactivation)
        state = SketchState(step, self._coverage, self.mask, self.lengths, tag_scores)
        # Under autocast the scores are in low precision; alpha and beta stay in float32.
        alpha = self.attend(scores.to(self._coverage.dtype), state)
        if step >= self._common_steps:
            alpha = alpha.masked_fill((step >= self.num_steps).unsqueeze(-1), 0)
        self._coverage = self._coverage + alpha
        return alpha


@torch.no_grad()
def _score_without_gradient(
    score: ScoreUpdates, sketch_preactivation: torch.Tensor
) -> torch.Tensor:
    return score(sketch_preactivation.tanh())


def sketch_full(
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    attend: Attend,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
    keep_trace: bool = False,
    score_updates: ScoreUpdates | None = None,
) -> SketchResult:
    """NEF-F: a step updates every word with a vector of its own (Eq. 7), ``s_i += alpha_i tanh(W_cs c_i + w_s)``.

    # Parameters

    preactivation : `torch.Tensor`, (batch, tokens, preattention_dim + sketch_dim)
        ``W_h * h + w``, finite in padding too.
    sketch_weight : `torch.Tensor`, (preattention_dim + sketch_dim, (2 * context_size + 1) * sketch_dim)
        ``W_s``: what multiplies the window of sketches.
    attention_vector : `torch.Tensor`, (preattention_dim,)
        v of Eq. 2.
    attend : `Attend`
    mask : `torch.BoolTensor`, (batch, tokens)
    num_steps : `torch.LongTensor`, (batch,)
        The number of steps of each sentence. After them its sketches do not change.
    context_size : `int`
        w.
    keep_trace : `bool`, optional (default = `False`)
    score_updates : `ScoreUpdates`, optional (default = `None`)
        For the transforms that choose by tag scores (Algorithm 1).
    """
    batch, tokens, _ = preactivation.shape
    preattention_dim = attention_vector.size(0)
    sketch_dim = sketch_weight.size(0) - preattention_dim
    sketches = preactivation.new_zeros(batch, tokens, sketch_dim)
    steps = _Steps(attend, mask, num_steps, preactivation.dtype, score_updates)
    attention: list[torch.Tensor] = []
    history: list[torch.Tensor] = []
    for step in range(steps.count):
        current = preactivation
        if (
            step > 0 or steps.count == 1
        ):  # s^0 = 0, multiplied only if no later step uses the weight
            current = current + functional.linear(windows(sketches, context_size), sketch_weight)
        preattention, update = current.tanh().split([preattention_dim, sketch_dim], dim=-1)
        alpha = steps.attention(
            step, preattention.matmul(attention_vector), current[..., preattention_dim:]
        )
        sketches = torch.addcmul(sketches, alpha.to(sketches.dtype).unsqueeze(-1), update)
        if keep_trace:
            attention.append(alpha)
            history.append(sketches)
    if not keep_trace:
        return SketchResult(sketches, None)
    trace = SketchTrace(torch.stack(attention, 1), torch.stack(history, 1), num_steps)
    return SketchResult(sketches, trace)


def sketch_single(
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    attend: Attend,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
    keep_trace: bool = False,
    score_updates: ScoreUpdates | None = None,
) -> SketchResult:
    """NEF-S: a step updates all words with one vector (Eq. 4), ``s_i += alpha_i tanh(W_cs c_bar + w_s)``.

    c_bar is the average of the windows, weighted by alpha. Since alpha sums to 1, the affine map of c_bar is the same
    average of the pre-activations. A step adds the rank-one term alpha t^T to the sketches, so one small product a
    sentence brings ``W_s * s`` up to date. The parameters are those of `sketch_full`.
    """
    preattention_dim = attention_vector.size(0)
    sketch_dim = sketch_weight.size(0) - preattention_dim
    # One matrix for each place of the window: (sketch_dim, window * (preattention_dim + sketch_dim)).
    weight_by_place = sketch_weight.view(sketch_weight.size(0), -1, sketch_dim).permute(2, 1, 0)
    window = weight_by_place.size(1)
    weight_by_place = weight_by_place.reshape(sketch_dim, -1)
    steps = _Steps(attend, mask, num_steps, preactivation.dtype, score_updates)
    if steps.count == 1:  # s^0 = 0, multiplied only because no later step uses the weight
        no_sketch = preactivation.new_zeros(1, sketch_weight.size(1))
        preactivation = preactivation + functional.linear(no_sketch, sketch_weight)
    attention: list[torch.Tensor] = []
    updates: list[torch.Tensor] = []
    for step in range(steps.count):
        preattention, sketch_part = preactivation.split([preattention_dim, sketch_dim], dim=-1)
        alpha = steps.attention(step, preattention.tanh().matmul(attention_vector), sketch_part)
        weights = alpha.to(preactivation.dtype)
        # (batch, 1, tokens) x (batch, tokens, sketch_dim)
        average = weights.unsqueeze(1).bmm(sketch_part)
        update = average.squeeze(1).tanh()
        attention.append(alpha)
        updates.append(update)
        if step + 1 < steps.count:
            weight_windows = windows(weights.unsqueeze(-1), context_size)  # (batch, tokens, window)
            columns = update.matmul(weight_by_place).view(update.size(0), window, -1)
            preactivation = preactivation.baddbmm(weight_windows, columns)
    alphas, vectors = torch.stack(attention, dim=1), torch.stack(updates, dim=1)
    sketches = alphas.to(vectors.dtype).transpose(1, 2).bmm(vectors)  # the sum of alpha t^T
    if not keep_trace:
        return SketchResult(sketches, None)
    history = alphas.unsqueeze(-1) * vectors.unsqueeze(2)  # (batch, steps, tokens, sketch_dim)
    return SketchResult(sketches, SketchTrace(alphas, history.cumsum(1), num_steps))
