"""Halting: when a sentence does no further steps of the decoder."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides
from torch.nn import functional

from allennlp_nef.modules.options import check_integers
from allennlp_nef.nn.numerics import in_float32_at_least


class Progress(NamedTuple):
    """The tags of sentences after a step, as far as a `Halting` looks at them.

    They are the labels with the highest scores, and their probabilities are those of softmax(scores), also with a CRF.
    """

    confidence: torch.Tensor
    """The lowest probability of a tag of the sentence: (sentences,)."""
    unchanged: torch.Tensor
    """For how many steps, this one included, no tag of the sentence has changed: (sentences,); 0 at the first step."""
    halted: torch.Tensor
    """The learned probability to have halted at this step or an earlier one: (sentences,); 0 without `halting_rate`."""


class ProgressTracker:
    """Follows the tags of the sentences of a batch from step to step.

    # Parameters

    mask : `torch.BoolTensor`, (batch, tokens)
    """

    def __init__(self, mask: torch.Tensor) -> None:
        self._padding = ~mask
        self._tags = torch.full(mask.shape, -1, device=mask.device)
        self._unchanged = torch.zeros(len(mask), dtype=torch.long, device=mask.device)
        self._left = torch.ones(len(mask), device=mask.device)

    @torch.no_grad()
    def after(
        self,
        scores: torch.Tensor,
        logits: torch.Tensor | None = None,
        rows: torch.Tensor | None = None,
    ) -> Progress:
        """The progress of sentences after a step.

        # Parameters

        scores : `torch.Tensor`, (sentences, tokens, labels)
            Of the tag head.
        logits : `torch.Tensor`, (sentences,), optional (default = `None`)
            Of the learned probabilities to halt at this step.
        rows : `torch.LongTensor`, (sentences,), optional (default = `None`)
            The positions of the sentences in the batch; None where they are all.
        """
        chosen = slice(None) if rows is None else rows
        padding = self._padding[chosen]
        scores = in_float32_at_least(scores)
        highest, tags = scores.max(-1, keepdim=True)
        # The softmax at the highest score.
        probabilities = (scores - highest).exp_().sum(-1).reciprocal_()
        confidence = probabilities.masked_fill_(padding, 1).amin(-1)
        is_same = ((tags.squeeze(-1) == self._tags[chosen]) | padding).all(-1)
        unchanged = (self._unchanged[chosen] + 1) * is_same
        left = self._left[chosen]
        if logits is not None:
            left = left * (-logits).sigmoid()
        self._tags[chosen], self._unchanged[chosen] = tags.squeeze(-1), unchanged
        self._left[chosen] = left
        return Progress(confidence, unchanged, 1 - left)


MAX_STEPS = 2**31
"""More than any sentence has. A larger number of the user, which may not fit into a tensor, counts as this one."""


class Halting(Registrable):
    """Decides after each step of `neural_easy_first` which sentences do no further step. For predictions only.

    A subclass implements `halts`.

    # Parameters

    max_steps : `int`, optional (default = `None`)
        At least 1: the largest number of steps. None: as many as the decoder has.
    """

    looks_at_tags = True
    """Whether `halts` may give True."""
    is_learned = False
    """Whether `halts` looks at `halted`, which only a decoder with `halting_rate` has."""

    def __init__(self, max_steps: int | None = None) -> None:
        if max_steps is not None:
            check_integers(max_steps=max_steps)
        self.max_steps = max_steps

    def halts(self, progress: Progress) -> torch.Tensor:
        """Which sentences halt after a step: bool, in the shape of the tensors of `progress`."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def check_probability(name: str, value: Any) -> float:
    """The value. Raises a `ConfigurationError` where it is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ConfigurationError(f"{name}: expected a number from 0 to 1, got {value!r}")
    return value


@Halting.register("fixed")
class FixedHalting(Halting):
    """Every sentence does `max_steps` steps, or as many as the decoder has if that is less.

    Registered as a `Halting` with name "fixed".

    # Parameters

    max_steps : `int`, optional (default = `None`)
        At least 1. None: as many as the decoder has, for a request that does not want the halting of the archive.
    """

    looks_at_tags = False

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return torch.zeros_like(progress.unchanged, dtype=torch.bool)


@Halting.register("confident")
class ConfidentHalting(Halting):
    """A sentence halts once the probability of each of its tags is at least a threshold.

    Registered as a `Halting` with name "confident".

    # Parameters

    threshold : `float`
        From 0 to 1. `allennlp-nef calibrate --halting confident` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    def __init__(self, threshold: float, max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return progress.confidence >= self.threshold


@Halting.register("settled")
class SettledHalting(Halting):
    """A sentence halts once no tag has changed for some steps, and the probability of each is at least a threshold.

    Registered as a `Halting` with name "settled".

    # Parameters

    steps : `int`, optional (default = `1`)
        At least 1: for how many steps in turn no tag has changed.
    threshold : `float`, optional (default = `0.0`)
        From 0 to 1. `allennlp-nef calibrate --halting settled` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    def __init__(
        self, steps: int = 1, threshold: float = 0.0, max_steps: int | None = None
    ) -> None:
        super().__init__(max_steps)
        check_integers(steps=steps)
        self.steps = steps
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        is_settled = progress.unchanged >= min(self.steps, MAX_STEPS)
        return is_settled & (progress.confidence >= self.threshold)


@Halting.register("learned")
class LearnedHalting(Halting):
    """A sentence halts once the probability that it has halted, as the decoder has learned it, is at least a threshold.

    Banino, Balaguer and Blundell, "PonderNet: Learning to Ponder" (2021). The decoder has to be trained with the
    option `halting_rate` of `neural_easy_first`. Registered as a `Halting` with name "learned".

    # Parameters

    threshold : `float`, optional (default = `0.5`)
        From 0 to 1. `allennlp-nef calibrate --halting learned` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    is_learned = True

    def __init__(self, threshold: float = 0.5, max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return progress.halted >= self.threshold


class BatchHalting:
    """The halting rules of the sentences of one batch, and what they have to know of the steps so far.

    # Parameters

    haltings : `Sequence[Halting | None]`
        One a sentence; None for all steps.
    max_steps : `Sequence[int | None]`
        One a sentence; None for that of its halting.
    mask : `torch.BoolTensor`, (batch, tokens)
    """

    def __init__(
        self,
        haltings: Sequence[Halting | None],
        max_steps: Sequence[int | None],
        mask: torch.Tensor,
    ) -> None:
        self.is_limited = [
            halting is not None or limit is not None for halting, limit in zip(haltings, max_steps)
        ]
        """Which sentences have a halting or a maximum of their own."""
        chosen = [FixedHalting() if halting is None else halting for halting in haltings]
        self._limits = [
            halting.max_steps if limit is None else limit
            for halting, limit in zip(chosen, max_steps)
        ]
        self._distinct: list[Halting] = []
        for halting in chosen:
            if halting not in self._distinct:
                self._distinct.append(halting)
        numbers = [self._distinct.index(halting) for halting in chosen]
        self._numbers = torch.tensor(numbers, device=mask.device)
        self.looks_at_tags = any(halting.looks_at_tags for halting in self._distinct)
        """Whether `after` has to be called after each step."""
        self.is_learned = any(halting.is_learned for halting in self._distinct)
        """Whether `after` needs the logits."""
        self._tracker = ProgressTracker(mask)

    def limit(self, num_steps: torch.Tensor) -> torch.Tensor:
        """The steps of each sentence, (batch,), at most as many as its halting allows."""
        if all(limit is None for limit in self._limits):
            return num_steps
        limits = [MAX_STEPS if limit is None else min(limit, MAX_STEPS) for limit in self._limits]
        return num_steps.minimum(num_steps.new_tensor(limits))

    def after(
        self,
        scores: torch.Tensor,
        logits: torch.Tensor | None = None,
        rows: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Which sentences halt after a step, (sentences,), bool. See `ProgressTracker.after`."""
        progress = self._tracker.after(scores, logits, rows)
        numbers = self._numbers if rows is None else self._numbers[rows]
        first, *others = self._distinct
        halts = first.halts(progress)
        for number, halting in enumerate(others, 1):
            halts = torch.where(numbers == number, halting.halts(progress), halts)
        return halts


class LearnedHaltingHead(torch.nn.Module):
    """The probability to halt at a step: lambda = sigmoid(w * mean of the sketches + b). At first it is the rate.

    # Parameters

    sketch_dim : `int`
    rate : `float`
        In (0, 1): that of the geometric prior.
    """

    def __init__(self, sketch_dim: int, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.weight = torch.nn.Parameter(torch.zeros(sketch_dim))
        self.bias = torch.nn.Parameter(torch.tensor(math.log(rate / (1 - rate))))

    def forward(self, sketches: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of lambda (...), in float32 at least, from sketches (..., tokens, dim) and a mask (..., tokens)."""
        words = in_float32_at_least(sketches).masked_fill(~mask.unsqueeze(-1), 0)
        means = words.sum(-2) / mask.sum(-1, keepdim=True).clamp(min=1)
        return means @ self.weight.to(means) + self.bias.to(means)


def halting_log_probabilities(logits: torch.Tensor, num_steps: torch.Tensor) -> torch.Tensor:
    """log p_n, p_n = lambda_n prod_{j < n} (1 - lambda_j), with the rest at the last step: (batch, steps).

    # Parameters

    logits : `torch.Tensor`, (batch, steps)
        Of lambda.
    num_steps : `torch.LongTensor`, (batch,)
        The steps of each sentence; after its last one, log p is 0 and means nothing.
    """
    steps = torch.arange(logits.size(1), device=logits.device)
    going_on = functional.logsigmoid(-logits)
    before = going_on.cumsum(1) - going_on
    is_last = steps == num_steps.unsqueeze(1) - 1
    log_p = before + functional.logsigmoid(logits).masked_fill(is_last, 0)
    return log_p.masked_fill(steps >= num_steps.unsqueeze(1), 0)


def geometric_log_prior(
    rate: float, num_steps: torch.Tensor, count: int, dtype: torch.dtype
) -> torch.Tensor:
    """log of rate (1 - rate)^(n - 1), normalized over the steps of each sentence: (batch, count)."""
    steps = torch.arange(count, device=num_steps.device, dtype=dtype)
    log_complement = math.log1p(-rate)
    totals = -torch.expm1(log_complement * num_steps.clamp(min=1).to(dtype))
    return math.log(rate) + log_complement * steps - totals.log().unsqueeze(1)


def halting_divergence(
    log_probabilities: torch.Tensor, num_steps: torch.Tensor, rate: float
) -> torch.Tensor:
    """KL(p || truncated geometric prior) of each sentence, (batch,), from log p (batch, steps)."""
    count = log_probabilities.size(1)
    is_step = torch.arange(count, device=num_steps.device) < num_steps.unsqueeze(1)
    prior = geometric_log_prior(rate, num_steps, count, log_probabilities.dtype)
    terms = log_probabilities.exp() * (log_probabilities - prior)
    return terms.masked_fill(~is_step, 0).sum(1)
