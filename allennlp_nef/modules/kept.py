from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Tuple, TypeVar

import torch

Made = TypeVar("Made")


class KeptInEvaluation(Generic[Made]):
    """What is made of weights: in an evaluation without gradient once, not once a batch.

    A weight that is changed through `.data` is not noticed: `train()` and `eval()` of the module have to `drop` it.
    """

    def __init__(self) -> None:
        self._kept: Optional[_Kept] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {"_kept": None}  # copies and files make it again

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
            # Inference tensors could not be told from others that are made of them.
            with torch.inference_mode(False), torch.no_grad():
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
    if device.type not in ("cpu", "cuda"):
        return True  # as far as can be told in all versions
    try:
        return torch.is_autocast_enabled(device.type)
    except TypeError:  # torch 1.12
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
