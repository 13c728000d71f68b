"""What the processes of a distributed training tell each other. All of them have to call each function."""

from typing import Any

import torch.distributed
from allennlp.common.util import is_distributed
from allennlp.nn.util import dist_reduce_sum


def gather(value: Any) -> list[Any]:
    """The values of all processes, in their order."""
    if not is_distributed():
        return [value]
    values: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def in_any_process(value: bool) -> bool:
    """Whether it is true in any process."""
    return dist_reduce_sum(int(value)) > 0


def rank() -> int:
    """The number of this process, from 0."""
    return torch.distributed.get_rank() if is_distributed() else 0
