"""What to do when memory runs out."""

from contextlib import contextmanager
from typing import Iterator, Optional, Tuple

BatchShape = Tuple[int, int]
"""The sentences of a batch, and the words of the longest."""


class OutOfMemoryError(RuntimeError):
    """Memory ran out. The message says which batch was too large, and what to change."""


def is_out_of_memory(error: Optional[BaseException]) -> bool:
    """Whether torch raised it for want of memory, on a CPU or on another device."""
    said = str(error).lower()
    return isinstance(error, RuntimeError) and (
        "out of memory" in said or "can't allocate memory" in said
    )


def out_of_memory_error(
    error: Optional[BaseException], shape: Optional[BatchShape]
) -> OutOfMemoryError:
    """The error that explains another one."""
    batch = "a batch"
    if shape is not None:
        batch = f"a batch of {shape[0]:,} sentences with up to {shape[1]:,} words"
    reason = str(error).strip().splitlines()[0]
    return OutOfMemoryError(
        f"memory ran out with {batch}: lower batch_size in data_loader or validation_data_loader (--batch-size of "
        "allennlp predict), or leave long sentences out with max_tokens of the dataset reader; `allennlp train "
        f"--recover` goes on after the last epoch that was finished ({reason})"
    )


@contextmanager
def explaining_memory(shape: Optional[BatchShape]) -> Iterator[None]:
    """Raises an `OutOfMemoryError` where memory runs out."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, OutOfMemoryError) or not is_out_of_memory(error):
            raise
        raise out_of_memory_error(error, shape) from error
