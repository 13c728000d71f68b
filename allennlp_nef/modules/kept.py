from typing import Any, Callable, Generic, List, NamedTuple, Optional, Tuple, TypeVar

import torch

Made = TypeVar("Made")


class KeptInEvaluation(Generic[Made]):
    """What is made of weights: in an evaluation once, not once a batch."""

    def __init__(self) -> None:
        self._kept: Optional[_Kept] = None

    def drop(self) -> None:
        """Forgets what is kept."""
        self._kept = None

    def get(
        self, make: Callable[..., Made], weights: Tuple[torch.Tensor, ...], is_training: bool
    ) -> Made:
        """
        What is made of these weights.

        # Parameters

        make : `Callable`
            Makes it of the weights; always the same function.
        weights : `Tuple[torch.Tensor, ...]`
        is_training : `bool`
            Of the module.
        """
        is_kept = not (is_training or torch.is_grad_enabled() or _is_autocast(weights[0].device))
        if not is_kept or any(weight.is_inference() for weight in weights):
            return make(*weights)
        # As long as the weights are these, and nobody has changed or moved one in place.
        kept, states = self._kept, [_state_of(weight) for weight in weights]
        is_same = kept is not None and all(a is b for a, b in zip(kept.weights, weights))
        if kept is None or not is_same or kept.states != states:
            kept = self._kept = _Kept(weights, states, make(*weights))
        return kept.made


class _Kept(NamedTuple):
    """What was made, and of what."""

    weights: Tuple[torch.Tensor, ...]
    states: List[Any]
    made: Any


def _state_of(weight: torch.Tensor) -> Any:
    return weight._version, weight.data_ptr(), weight.dtype, weight.device


def _is_autocast(device: torch.device) -> bool:
    """Under autocast products have another type than the weights."""
    try:
        return torch.is_autocast_enabled(device.type)
    except TypeError:  # torch 1.12
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
