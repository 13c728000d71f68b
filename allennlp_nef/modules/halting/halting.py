from typing import Any

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.checks import check_integers
from allennlp_nef.modules.halting.progress import Progress

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
    looks_at_changes = True
    """Whether `halts` looks at `unchanged`."""
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
