"""Additive scores of self-attention in part 7 of `speed.py`: time against the plain formula, and memory."""

from collections.abc import Callable
from functools import partial

import torch
from speed_harness import Case, Row, Settings, compare
from speed_scaling import in_new_processes, peak_above

from allennlp_nef.nn.additive_scores import additive_scores

SHAPES = ((10, 25, 200), (10, 25, 300))
"""Batch, words and dimension of the two layers of `pos_psa`."""
LONG, WIDE = 1000, 600


def additive(settings: Settings) -> list[Case]:
    """Time of forward and backward pass for each shape, and the peak memory of one long sentence."""
    return [*(partial(_time, settings, shape) for shape in SHAPES), partial(_memory, settings)]


def plain(queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """The formula for all pairs of words in one tensor."""
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector


def step(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> None:
    """Forward and backward pass."""
    for tensor in inputs:
        tensor.grad = None
    function(*inputs).sum().backward()


def inputs_of(settings: Settings, batch: int, tokens: int, dim: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = (batch, tokens, dim), (batch, tokens, dim), (dim,)
    return [torch.randn(shape, device=settings.device, requires_grad=True) for shape in shapes]


def extra_memory(settings: Settings, tokens: int) -> float:
    """The peak memory of a step minus that of its inputs, in MB. Call it in a new process."""
    torch.set_num_threads(settings.threads)
    step(additive_scores, inputs_of(settings, 1, 2, WIDE))
    return peak_above(partial(step, additive_scores, inputs_of(settings, 1, tokens, WIDE)))


def _time(settings: Settings, shape: tuple) -> list[Row]:
    inputs = inputs_of(settings, *shape)
    ours, theirs = (partial(step, function, inputs) for function in (additive_scores, plain))
    what = f"additive scores {'x'.join(map(str, shape))}, forward and backward"
    return [compare(settings, what, "a tanh a pair", ours, theirs)]


def _memory(settings: Settings) -> list[Row]:
    tokens = 100 if settings.quick else LONG
    values = in_new_processes(extra_memory, [(settings, tokens)] * settings.rounds(3))
    what = f"peak memory of additive scores, {tokens:,} words of {WIDE} numbers"
    return [Row(what, "", values, unit="MB")]
