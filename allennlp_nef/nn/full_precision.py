from contextlib import nullcontext
from typing import Any

import torch


def full_precision(device: torch.device) -> Any:
    """A context without autocast: the types are those of the inputs, forward and backward."""
    if device.type in ("cpu", "cuda"):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
