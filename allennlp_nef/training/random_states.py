"""The states of the random number generators of Python, NumPy and torch."""

import random
from typing import Any

import numpy
import torch

RandomStates = dict[str, Any]
"""As `torch.load` takes them by default: tensors, numbers, strings and tuples."""


def random_states() -> RandomStates:
    """The states of this process, with those of all GPUs if it uses any."""
    state: Any = numpy.random.get_state(legacy=True)
    kind, keys, *rest = state
    states: RandomStates = {
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(keys.view("int32")), *rest),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def set_random_states(states: RandomStates) -> None:
    """Sets what `random_states` returned. The states of GPUs that are not there any more are ignored."""
    random.setstate(states["python"])
    kind, keys, *rest = states["numpy"]
    numpy.random.set_state((kind, keys.numpy().view("uint32"), *rest))
    torch.set_rng_state(states["torch"])
    for device, state in enumerate(states.get("cuda", ())[: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, device)
