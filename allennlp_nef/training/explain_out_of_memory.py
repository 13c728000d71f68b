import sys
from typing import Any

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.models.out_of_memory import (
    OutOfMemoryError,
    is_out_of_memory,
    out_of_memory_error,
)


@TrainerCallback.register("explain_out_of_memory")
class ExplainOutOfMemory(TrainerCallback):
    """Explains an error for lack of memory in training: which batch was too large, and what to change.

    It covers the whole training step. The model itself explains such errors in its forward pass only.

    Registered as a `TrainerCallback` with name "explain_out_of_memory". It does not change the checkpoints.

    # Raises

    `OutOfMemoryError`, in place of torch's.
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        self._handled = sys.exc_info()[
            1
        ]  # an exception of the caller, who may train in an `except` clause

    @overrides(check_signature=False)
    def on_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        error = sys.exc_info()[1]  # the trainer calls this after an exception, too
        if error is self._handled or isinstance(error, OutOfMemoryError):
            return
        if is_out_of_memory(error):
            shape = getattr(trainer.model, "batch_shape", None)
            raise out_of_memory_error(error, shape, training=True) from error
