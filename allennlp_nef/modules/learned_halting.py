"""The distribution over the steps at which a sentence halts (Banino, Balaguer and Blundell, "PonderNet", 2021)."""

import math

import torch
from torch.nn import functional

from allennlp_nef.nn.numerics import in_float32_at_least


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
    found = before + functional.logsigmoid(logits).masked_fill(is_last, 0)
    return found.masked_fill(steps >= num_steps.unsqueeze(1), 0)


def geometric_log_prior(rate: float, num_steps: torch.Tensor, count: int) -> torch.Tensor:
    """log of rate (1 - rate)^(n - 1), normalized over the steps of each sentence: (batch, count), float64."""
    steps = torch.arange(count, device=num_steps.device).double()
    log_rest = math.log1p(-rate)
    totals = -torch.expm1(log_rest * num_steps.clamp(min=1).double())
    return math.log(rate) + log_rest * steps - totals.log().unsqueeze(1)


def halting_divergence(
    log_probabilities: torch.Tensor, num_steps: torch.Tensor, rate: float
) -> torch.Tensor:
    """KL(p || truncated geometric prior) of each sentence, (batch,), from log p (batch, steps)."""
    count = log_probabilities.size(1)
    is_step = torch.arange(count, device=num_steps.device) < num_steps.unsqueeze(1)
    prior = geometric_log_prior(rate, num_steps, count).to(log_probabilities)
    terms = log_probabilities.exp() * (log_probabilities - prior)
    return terms.masked_fill(~is_step, 0).sum(1)
