from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import torch

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Caches a value that is computed from weights: an evaluation without gradients computes it once, not per batch.

    It is computed again when a weight is another tensor, or was changed or moved in place. A change through `.data`
    goes unnoticed: call `clear` in `train()` of the module, which `eval()` calls too.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_entry": None}  # copies and files compute it again

    def clear(self) -> None:
        """Forgets the value."""
        self._entry = None

    def get(
        self,
        compute: Callable[..., Value],
        weights: tuple[torch.Tensor, ...],
        is_training: bool,
    ) -> Value:
        """
        The value: `compute(*weights)`.

        # Parameters

        compute : `Callable`
            The same function in each call.
        weights : `tuple[torch.Tensor, ...]`
        is_training : `bool`
            Whether the module is in training mode: then nothing is cached.
        """
        if is_training or torch.is_grad_enabled() or _is_autocast(weights[0].device):
            return compute(*weights)
        if any(weight.is_inference() for weight in weights):  # they have no version
            return compute(*weights)
        entry, states = self._entry, [_state_of(weight) for weight in weights]
        is_same = entry is not None and all(a is b for a, b in zip(entry.weights, weights))
        if entry is None or not is_same or entry.states != states:
            # An inference tensor could not be used where gradients are computed later.
            with torch.inference_mode(False), torch.no_grad():
                entry = self._entry = _Entry(weights, states, compute(*weights))
        return entry.value


class _Entry(NamedTuple):
    """A value, and the weights that it was computed from."""

    weights: tuple[torch.Tensor, ...]
    states: list[Any]
    value: Any


def _state_of(weight: torch.Tensor) -> Any:
    return weight._version, weight.data_ptr(), weight.dtype, weight.device


def _is_autocast(device: torch.device) -> bool:
    """Whether autocast is on, under which products have another type than the weights."""
    if device.type not in ("cpu", "cuda"):
        return True  # not every version of torch says
    return torch.is_autocast_enabled(device.type)
