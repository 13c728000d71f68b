"""Errors that say what to change when memory runs out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

BatchShape = tuple[int, int]
"""The sentences of a batch, and the words of the longest."""
SIGNS = ("out of memory", "can't allocate memory", "bad_alloc")


class OutOfMemoryError(RuntimeError):
    """Memory ran out. The message says which batch was too large, and what to change."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error says that memory ran out, on a CPU or on another device."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in message for sign in SIGNS)
    )


def batch_shape(inputs: Any) -> BatchShape | None:
    """The shape of the first tensor (batch, tokens, ...) in the inputs of a model, which are nested dicts."""
    if isinstance(inputs, torch.Tensor):
        return (inputs.size(0), inputs.size(1)) if inputs.dim() > 1 else None
    values = inputs.values() if isinstance(inputs, dict) else ()
    return next(filter(None, map(batch_shape, values)), None)


def out_of_memory_error(
    error: BaseException | None, shape: BatchShape | None, training: bool
) -> OutOfMemoryError:
    """The error that says which batch was too large, and what to change."""
    batch = "a batch"
    if shape is not None:
        batch = f"a batch of {shape[0]:,} sentences with up to {shape[1]:,} words"
    change = "lower --batch-size, or batch_size in validation_data_loader"
    if training:
        change = (
            "lower batch_size (or max_pieces) in data_loader, or leave long sentences out with max_tokens in "
            "dataset_reader; with the same change in config.json of the run's folder, `allennlp train --recover` goes "
            "on after the last epoch that was finished"
        )
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return OutOfMemoryError(f"memory ran out with {batch}: {change} ({reason})")


@contextmanager
def explaining_memory(shape: BatchShape | None, training: bool) -> Iterator[None]:
    """A context that raises an `OutOfMemoryError` where memory runs out."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, OutOfMemoryError) or not is_out_of_memory(error):
            raise
        raise out_of_memory_error(error, shape, training) from error
