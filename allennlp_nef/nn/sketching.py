"""The sketch recursion of the neural easy-first tagger.

Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017), Algorithm 2,
Equations 1 to 7.

The affine map of a concatenation is a sum: ``W concat(window of h, window of s) = W_h * h + W_s * s``. The first term
does not change over the steps. The caller computes it once, for the attention (Eq. 2) and the sketch (Eqs. 4 and 7)
together. It is called the *pre-activation* p; the columns of the attention come first. With a = p + W_s * s^(n-1), of
which a_z are the attention's columns and a_s the sketch's, step n is

    z_i = v . tanh(a_z,i)                                                (Eq. 2)
    alpha = rho(z, beta)                                                 (Eq. 3)
    NEF-F: t_i = tanh(a_s,i)           NEF-S: t = tanh(sum_i alpha_i a_s,i)
    s_i^n = s_i^(n-1) + alpha_i t_i                                      (Eqs. 4 and 7)
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from allennlp_nef.nn.numerics import differentiable_once, float32_at_least, zero_padding

MAX_CACHE_BYTES = 128 * 2**20
"""What the steps may keep for the backward pass on a CPU before some are computed again."""
MAX_LEFT_SHARE = 0.75
"""The largest share of sentences with further steps, or of words, at which leaving out the others saves time."""


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
    rows: torch.Tensor | None = None
    """The positions in the whole batch of the sentences of this step, (batch,); None where they are all."""


class SketchResult(NamedTuple):
    """What `sketch` returns."""

    sketches: torch.Tensor
    """s^N: (batch, tokens, sketch_dim)."""
    num_steps: torch.Tensor
    """The number of steps that each sentence did: (batch,)."""
    attention: torch.Tensor | None
    """alpha: (batch, steps, tokens); 0 after the last step of a sentence. None without a trace."""
    history: torch.Tensor | None
    """s^1 to s^N: (batch, steps, tokens, sketch_dim); after the last step of a sentence they do not change."""


ScoreUpdates = Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
"""The update that each word would get (batch, tokens, sketch_dim), and `SketchState.rows` -> its best tag score after
it (batch, tokens)."""

Halts = Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]
"""The sketches after a step (sentences, tokens, sketch_dim), and `SketchState.rows` -> which sentences halt. It is
called once for each step. What it says of a sentence that has halted does not matter."""

Attend = Callable[[torch.Tensor, SketchState], torch.Tensor]
"""Attention scores z (batch, tokens) and the state -> attention weights alpha (batch, tokens)."""

CanGetAttention = Callable[[torch.Tensor], torch.Tensor | None]
"""The coverage (batch, tokens) -> which words can get attention (batch, tokens), bool; None for all."""


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


class _WindowProduct(torch.autograd.Function):
    """p + W_s * s, (batch, tokens, dim), or of some words, (words, dim).

    It keeps s for the backward pass, and not the windows, which have 2 w + 1 times as many numbers.
    """

    @staticmethod
    def forward(
        ctx: Any,
        preactivation: torch.Tensor,
        sketches: torch.Tensor,
        weight: torch.Tensor,
        context_size: int,
        words: torch.Tensor | None,
    ) -> torch.Tensor:
        ctx.save_for_backward(sketches, weight)
        ctx.context_size, ctx.words = context_size, words
        windows_ = _window_rows(sketches, context_size, words)
        product = torch.addmm(_rows(preactivation, words), windows_, weight.to(windows_.dtype).t())
        return product.view_as(preactivation) if words is None else product

    @staticmethod
    @differentiable_once("neural_easy_first")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        sketches, weight = ctx.saved_tensors
        size = ctx.context_size
        batch, tokens, dim = sketches.shape
        rows = grad.flatten(0, -2)
        grad_weight = rows.t().mm(_window_rows(sketches, size, ctx.words)).to(weight.dtype)
        grad_windows = _all_rows(rows.mm(weight.to(grad.dtype)), ctx.words, batch * tokens)
        by_place = grad_windows.view(batch, tokens, 2 * size + 1, dim)
        grad_padded = sketches.new_zeros(batch, tokens + 2 * size, dim)
        for place in range(2 * size + 1):  # not `+=`, which copies the sum onto itself
            grad_padded[:, place : place + tokens].add_(by_place[:, :, place])
        grad_preactivation = _all_rows(rows, ctx.words, batch * tokens).view(batch, tokens, -1)
        return grad_preactivation, grad_padded[:, size : size + tokens], grad_weight, None, None


def _rows(table: torch.Tensor, words: torch.Tensor | None) -> torch.Tensor:
    """(batch, tokens, dim) -> a row for each word, or for each of these words."""
    rows = table.flatten(0, 1)
    return rows if words is None else rows.index_select(0, words)


def _all_rows(rows: torch.Tensor, words: torch.Tensor | None, count: int) -> torch.Tensor:
    """A row for each of these words -> a row for each of all words, 0 for the others."""
    return (
        rows if words is None else rows.new_zeros(count, *rows.shape[1:]).index_copy(0, words, rows)
    )


def _window_rows(
    sketches: torch.Tensor, context_size: int, words: torch.Tensor | None
) -> torch.Tensor:
    """`windows`, a row for each word, or for each of these words, (words, window * sketch_dim), in one copy."""
    batch, tokens, dim = sketches.shape
    length, width = tokens + 2 * context_size, (2 * context_size + 1) * dim
    padded = sketches.new_zeros(batch, length, dim)
    padded[:, context_size : context_size + tokens] = sketches
    if words is not None:
        starts = words + words.div(tokens, rounding_mode="floor") * (2 * context_size)
        overlapping = padded.as_strided((batch * length - 2 * context_size, width), (dim, 1))
        return overlapping.index_select(0, starts)
    overlapping = padded.as_strided((batch, tokens, width), (length * dim, dim, 1))
    return overlapping.reshape(batch * tokens, width)


class _Tanh(torch.autograd.Function):
    """tanh. On CPUs torch's takes three times as long as its sigmoid; here the error is at most 2e-7."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        output = torch.mul(x, 2).sigmoid_().mul_(2).sub_(1)
        ctx.save_for_backward(output)
        return output

    @staticmethod
    @differentiable_once("neural_easy_first")
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (output,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, output)


def _tanh(x: torch.Tensor) -> torch.Tensor:
    if x.dtype == torch.float32 and x.device.type == "cpu":
        result: torch.Tensor = _Tanh.apply(x)
        return result
    return x.tanh()


class _Carry(NamedTuple):
    """What a step takes from the one before it."""

    sketches: torch.Tensor
    """(batch, tokens, sketch_dim)"""
    coverage: torch.Tensor
    """(batch, tokens)"""
    preactivation: torch.Tensor
    """p, or for NEF-S a: (batch, tokens, preattention_dim + sketch_dim)."""


class _Recursion:
    """The steps of NEF-F or NEF-S over the sentences that have further steps."""

    def __init__(
        self,
        sketch_update: str,
        sketch_weight: torch.Tensor,
        attention_vector: torch.Tensor,
        attend: Attend,
        mask: torch.Tensor,
        num_steps: torch.Tensor,
        context_size: int,
        score_updates: ScoreUpdates | None,
        can_get_attention: CanGetAttention | None,
        count: int,
    ) -> None:
        self.is_single = sketch_update == "single"
        self.weight, self.vector = sketch_weight, attention_vector
        self.attend, self.score_updates = attend, score_updates
        self.can_get_attention = can_get_attention
        self.mask, self.num_steps, self.lengths = mask, num_steps, mask.sum(-1)
        self.context_size, self.count = context_size, count
        self.dims = [len(attention_vector), len(sketch_weight) - len(attention_vector)]
        self.rows: torch.Tensor | None = None
        self.terms: list[tuple[torch.Tensor, torch.Tensor]] = []
        """Of NEF-S: alpha (batch, tokens, 1) and t (batch, 1, sketch_dim) of steps that the sketches lack."""
        self.all_go_on = False
        """Whether it is known that all sentences do the next step."""
        # One matrix for each place of the window: (sketch_dim, window * (preattention_dim + sketch_dim)).
        by_place = sketch_weight.view(len(sketch_weight), -1, self.dims[1]).permute(2, 1, 0)
        self.weight_by_place = by_place.flatten(1) if self.is_single else by_place

    def step(self, number: int, carry: _Carry) -> tuple[torch.Tensor, _Carry]:
        """alpha (batch, tokens), and what the next step takes."""
        return (self._single if self.is_single else self._full)(number, carry)

    def _full(self, number: int, carry: _Carry) -> tuple[torch.Tensor, _Carry]:
        """Each word gets a vector of its own (Eq. 7), ``s_i += alpha_i tanh(W_cs c_i + w_s)``."""
        sketches, coverage, preactivation = carry
        words = self._words_to_compute(coverage) if number > 0 else None
        current = preactivation
        if number > 0 or self.count == 1:  # s^0 = 0, multiplied only if no later step uses W_s
            around = self.weight, self.context_size, words
            current = _WindowProduct.apply(current, sketches, *around)
        preattention, update = _tanh(current).split(self.dims, dim=-1)
        scores = _all_rows(preattention.matmul(self.vector), words, coverage.numel())
        alpha = self._attention(number, scores.view_as(coverage), coverage, lambda: update)
        weights = alpha.to(sketches.dtype).unsqueeze(-1)
        if words is None:
            sketches = torch.addcmul(sketches, weights, update)
        else:
            added = _rows(weights, words) * update
            sketches = sketches.flatten(0, 1).index_add(0, words, added).view_as(sketches)
        return alpha, _Carry(sketches, coverage + alpha, preactivation)

    def _words_to_compute(self, coverage: torch.Tensor) -> torch.Tensor | None:
        """The words that can get attention, as indices among all, where they are few enough; None for all words.

        The others have an attention of 0, so their scores and updates have no effect.
        """
        able = None if self.can_get_attention is None else self.can_get_attention(coverage)
        if able is None or able.device.type != "cpu":  # elsewhere it would wait for the device
            return None
        words = (able & self.mask).flatten().nonzero().squeeze(1)
        return words if len(words) <= MAX_LEFT_SHARE * able.numel() else None

    def _single(self, number: int, carry: _Carry) -> tuple[torch.Tensor, _Carry]:
        """All words get one vector (Eq. 4), ``s_i += alpha_i tanh(W_cs c_bar + w_s)``.

        c_bar is the average of the windows, weighted by alpha. Since alpha sums to 1, the affine map of c_bar is the
        same average of the pre-activations. A step adds the rank-one term alpha t^T to the sketches, so one small
        product a sentence brings ``W_s * s`` up to date.
        """
        sketches, coverage, current = carry
        if self.count == 1:  # s^0 = 0, multiplied only because no later step uses W_s
            nothing = current.new_zeros(1, self.weight.size(1))
            current = current + functional.linear(nothing, self.weight.to(current.dtype))
        preattention, update = current.split(self.dims, dim=-1)
        scores = _tanh(preattention).matmul(self.vector)
        alpha = self._attention(number, scores, coverage, update.tanh)
        weights = alpha.to(current.dtype)
        vector = _tanh(weights.unsqueeze(1).bmm(update))  # (batch, 1, sketch_dim)
        self.terms.append((weights.unsqueeze(-1), vector))
        if number + 1 < self.count:
            columns = vector.squeeze(1).mm(self.weight_by_place.to(current.dtype))
            columns = columns.view(len(columns), 2 * self.context_size + 1, sum(self.dims))
            padded = functional.pad(weights, (self.context_size, self.context_size))
            # (batch, tokens, window). A copy: overlapping rows are slow to multiply.
            around = padded.unfold(1, 2 * self.context_size + 1, 1).contiguous()
            current = current.baddbmm(around, columns)
        return alpha, _Carry(sketches, coverage + alpha, current)

    def with_terms(self, carry: _Carry) -> _Carry:
        """Adds alpha t^T of all steps of NEF-S since the last call to the sketches, in one product a sentence."""
        if not self.terms:
            return carry
        weights, vectors = zip(*self.terms)
        self.terms = []
        added = carry.sketches.baddbmm(torch.cat(weights, -1), torch.cat(vectors, 1))
        return carry._replace(sketches=added)

    def _attention(
        self,
        number: int,
        scores: torch.Tensor,
        coverage: torch.Tensor,
        updates: Callable[[], torch.Tensor],
    ) -> torch.Tensor:
        """alpha of a step (Eq. 3), in float32 at least, from z; 0 in the sentences that are done."""
        scores = scores.to(coverage.dtype)
        score = self.score_updates
        tag_scores = None if score is None else partial(self._tag_scores, score, updates)
        state = SketchState(number, coverage, self.mask, self.lengths, tag_scores, self.rows)
        alpha = self.attend(scores, state).to(coverage.dtype)
        if self.all_go_on:
            return alpha
        return alpha.masked_fill((number >= self.num_steps).unsqueeze(-1), 0)

    @torch.no_grad()
    def _tag_scores(self, score: ScoreUpdates, updates: Callable[[], torch.Tensor]) -> torch.Tensor:
        return score(updates(), self.rows)

    def steps(self, segment: range, *carry: torch.Tensor) -> _Carry:
        """Several steps."""
        current = _Carry(*carry)
        for number in segment:
            _, current = self.step(number, current)
        return self.with_terms(current)

    def keep(self, kept: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps."""
        self.rows = kept if self.rows is None else self.rows[kept]
        self.mask, self.lengths = self.mask[kept], self.lengths[kept]
        self.num_steps = self.num_steps[kept]
        self.all_go_on = True


def sketch(
    sketch_update: str,
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    attend: Attend,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
    max_steps: int,
    keep_trace: bool = False,
    score_updates: ScoreUpdates | None = None,
    halts: Halts | None = None,
    can_get_attention: CanGetAttention | None = None,
) -> SketchResult:
    """The sketches of a batch; differentiable once.

    On a CPU, a sentence that has done its steps leaves the batch when enough others have, so that the next step costs
    less. Elsewhere it stays, unchanged: nothing here synchronizes a device. A long recursion on a CPU keeps every k-th
    state alone for the backward pass, and computes the others again, so that memory grows with the square root of the
    number of steps.

    # Parameters

    sketch_update : `str`
        "full" (NEF-F) or "single" (NEF-S).
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
    max_steps : `int`
        At least the number of steps of any sentence.
    keep_trace : `bool`, optional (default = `False`)
        Whether the attention and the sketches of all steps are wanted.
    score_updates : `ScoreUpdates`, optional (default = `None`)
        For the transforms that choose by tag scores (Algorithm 1).
    halts : `Halts`, optional (default = `None`)
        Which sentences do fewer steps.
    can_get_attention : `CanGetAttention`, optional (default = `None`)
        Which words can get attention. NEF-F on a CPU leaves the others out of its products.
    """
    is_cpu = mask.device.type == "cpu"
    count = max(1, int(num_steps.max()) if is_cpu and len(num_steps) else max_steps)
    vector = attention_vector.to(preactivation.dtype)
    inputs = sketch_update, sketch_weight, vector, attend, mask, num_steps, context_size
    recursion = _Recursion(*inputs, score_updates, can_get_attention, count)
    sketches = preactivation.new_zeros(*mask.shape, recursion.dims[1])
    coverage = torch.zeros_like(mask, dtype=float32_at_least(preactivation.dtype))
    carry = _Carry(sketches, coverage, preactivation)
    attention: list[torch.Tensor] = []
    history: list[torch.Tensor] = []
    done: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
    has_segments = not keep_trace and halts is None and is_cpu and _is_large(carry, count)
    length = math.ceil(math.sqrt(count)) if has_segments else 1
    same_num_steps = is_cpu and len(num_steps) > 0 and int(num_steps.min()) == count
    recursion.all_go_on = same_num_steps
    for start in range(0, count, length):
        segment = range(start, min(start + length, count))
        if has_segments:
            steps = partial(recursion.steps, segment)
            carry = _Carry(*checkpoint(steps, *carry, use_reentrant=False))
        else:
            alpha, carry = recursion.step(start, carry)
            if keep_trace or halts is not None:
                carry = recursion.with_terms(carry)
            if keep_trace:
                attention.append(alpha)
                history.append(carry.sketches)
            if halts is not None:
                ends = recursion.num_steps.clamp(max=start + 1)
                with torch.no_grad():
                    has_halted = halts(carry.sketches, recursion.rows)
                recursion.num_steps = torch.where(has_halted, ends, recursion.num_steps)
        if not is_cpu or segment.stop == count or (same_num_steps and halts is None):
            continue
        has_next = recursion.num_steps > segment.stop
        left = int(has_next.sum())
        if left == 0:
            break
        recursion.all_go_on = left == len(has_next)
        # Inside a checkpoint, all sentences of the segment are computed again.
        if not keep_trace and not has_segments and left <= MAX_LEFT_SHARE * len(has_next):
            gone, kept = ((~has_next).nonzero().squeeze(1), has_next.nonzero().squeeze(1))
            carry = recursion.with_terms(carry)
            rows = gone if recursion.rows is None else recursion.rows[gone]
            done.append((rows, carry.sketches[gone], recursion.num_steps[gone]))
            recursion.keep(kept)
            carry = _Carry(*(tensor[kept] for tensor in carry))
    sketches, num_steps = recursion.with_terms(carry).sketches, recursion.num_steps
    if recursion.rows is not None:
        done.append((recursion.rows, sketches, num_steps))
        rows, sketches, num_steps = (torch.cat(tensors) for tensors in zip(*done))
        order = rows.argsort()
        sketches, num_steps = sketches[order], num_steps[order]
    sketches = zero_padding(sketches, mask)  # 0 already; gradients of padding end here
    if not keep_trace:
        return SketchResult(sketches, num_steps, None, None)
    return SketchResult(sketches, num_steps, torch.stack(attention, 1), torch.stack(history, 1))


def _is_large(carry: _Carry, count: int) -> bool:
    """Whether the steps would keep too much for the backward pass."""
    if not torch.is_grad_enabled():
        return False
    numbers = carry.preactivation.numel() + carry.sketches.numel()
    return numbers * carry.preactivation.element_size() * count > MAX_CACHE_BYTES
