"""What the metrics of a model have counted since their last reset."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy
import torch
from allennlp.training.metrics import Metric

Counts = list[dict[str, Any]]
"""Of each metric, its attributes, encoded."""
_CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "dict": dict}


def counts_of(model: torch.nn.Module) -> Counts:
    """What the metrics have counted. Attributes that `encode` refuses are no counts, and left out."""
    counts: Counts = []
    for owner in _owners(model):
        counts.append({})
        for name, value in vars(owner).items():
            with suppress(TypeError):
                counts[-1][name] = encode(value)
    return counts


def set_counts(model: torch.nn.Module, counts: Counts) -> None:
    """Sets what `counts_of` returned."""
    for owner, attributes in zip(_owners(model), counts):
        for name, encoded in attributes.items():
            value = decode(encoded)
            if isinstance(value, dict):  # it may be a `defaultdict`
                getattr(owner, name).clear()
                getattr(owner, name).update(value)
            else:
                setattr(owner, name, value)


def encode(value: Any) -> Any:
    """A copy that `torch.load` takes by default. Raises `TypeError` for objects that are no data."""
    if isinstance(value, numpy.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return ("array", torch.from_numpy(value.copy()))
    if isinstance(value, dict):
        return ("dict", [(encode(key), encode(each)) for key, each in value.items()])
    for name, kind in _CONTAINERS.items():
        if type(value) is kind:
            return (name, [encode(each) for each in value])
    raise TypeError(f"expected data, got {type(value)}")


def decode(value: Any) -> Any:
    """What was encoded."""
    if not isinstance(value, tuple):
        return value
    name, content = value
    if name == "array":
        return content.numpy()
    if name == "dict":
        return {decode(key): decode(each) for key, each in content}
    return _CONTAINERS[name](map(decode, content))


def _owners(model: torch.nn.Module) -> list[Any]:
    """The metrics of a model, and the objects that hold metrics for it."""
    owners: dict[int, Any] = {}
    for module in model.modules():
        for value in _attributes(module):
            held = [] if isinstance(value, torch.nn.Module) else _attributes(value)
            metrics = [each for each in [value, *held] if isinstance(each, Metric)]
            owners.update((id(each), each) for each in [value, *metrics] if metrics)
    return list(owners.values())


def _attributes(owner: Any) -> Iterator[Any]:
    """The attributes of an object, and the elements of those that are containers."""
    for value in getattr(owner, "__dict__", {}).values():
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
