import inspect
import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import dump_metrics
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import GradientDescentTrainer, TrainerCallback
from overrides import overrides

from allennlp_nef.training.agreement import gather, rank
from allennlp_nef.training.metric_counts import counts_of, decode, encode, set_counts
from allennlp_nef.training.random_states import RandomStates, random_states, set_random_states
from allennlp_nef.training.termination import Termination


class Resumption(TrainerCallback):
    """What a training needs to go on as if it had not stopped, and AllenNLP's trainer does not keep.

    `ResumableCheckpointer` attaches it to its trainer. Checkpoints have its state.

    AllenNLP recovers a training by reading the batches of all finished epochs again. Here each epoch starts with the
    random states that it had, so that its batches are the same. After the last batch that was done come the random
    states of the checkpoint. Of an epoch that is continued, the losses and the counts of the metrics are kept, too.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self.termination = Termination()
        self._epoch_starts: list[RandomStates] = []
        self._processes: list[dict[str, Any]] = []
        self._scaler: dict[str, Any] | None = None
        self._metrics: dict[str, Any] = {}  # of the last epoch that was finished
        self._losses = [
            0.0,
            0.0,
        ]  # the epoch so far: the sums of losses and regularization penalties
        self._pending: dict[str, Any] | None = (
            None  # the state of this process, until it is reached
        )
        self._is_continued = False  # whether another run began the epoch

    def attach(self, trainer: Any) -> None:
        """Makes the trainer call this, before its other callbacks, and read its batches from here."""
        trainer._callbacks.insert(0, self)
        loader = trainer.data_loader
        trainer.data_loader = _Loader(loader, partial(self._batches, trainer, loader))

    def collect(self, trainer: Any) -> None:
        """Collects the states of all processes, which all have to call it before one calls `state`."""
        state = {
            "epoch_starts": self._epoch_starts,
            "random_states": random_states(),
            "total_batches": trainer._total_batches_completed,
            "losses": self._losses,
            "losses_of_nef": getattr(trainer, "_losses", None),
            "counts": counts_of(trainer.model) if trainer._batches_in_epoch_completed else [],
        }
        self._processes = gather(state)
        self._scaler = trainer._scaler and trainer._scaler.state_dict()

    def state(self) -> dict[str, Any]:
        """What was collected, for a checkpoint."""
        metrics = encode(self._metrics)
        return {"processes": self._processes, "scaler": self._scaler, "metrics": metrics}

    def restore(self, state: dict[str, Any]) -> None:
        """Makes the training continue from a checkpoint; before `on_start`."""
        self._pending = state["processes"][rank()]
        self._epoch_starts = self._pending["epoch_starts"]
        self._scaler = state["scaler"]
        self._metrics = decode(state["metrics"])

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        if self._scaler:
            trainer._scaler.load_state_dict(self._scaler)
        if self._pending and trainer._metric_tracker.should_stop_early():
            # AllenNLP would train for one more epoch before it asks again.
            trainer._num_epochs = trainer._start_after_epochs_completed

    def _batches(self, trainer: Any, loader: Any) -> Iterator[Any]:
        """The batches of the epoch that the trainer is in."""
        epoch = trainer._epochs_completed
        is_next = self._pending is not None and epoch == trainer._start_after_epochs_completed
        skipped = trainer._start_after_batches_in_epoch_completed
        skipped *= trainer._num_gradient_accumulation_steps
        self._losses, self._is_continued = [0.0, 0.0], False
        if is_next and not skipped:
            self._go_on(trainer)
        if self._pending is None:
            self.termination.start()
        if epoch < len(self._epoch_starts):
            set_random_states(self._epoch_starts[epoch])
        else:
            self._epoch_starts.append(random_states())
        number = 0
        for number, batch in enumerate(loader, 1):
            yield batch
            if is_next and number == skipped:
                self._go_on(trainer)
        if is_next and number < skipped:
            # The last update was one of fewer batches. It is skipped as it would be with all of them.
            yield from [None] * (skipped - number)
            self._go_on(trainer)

    def _go_on(self, trainer: Any) -> None:
        """All that was done is skipped: what follows is new."""
        state, self._pending = self._pending or {}, None
        self.termination.start()
        set_random_states(state["random_states"])
        trainer._total_batches_completed = state["total_batches"]
        if trainer._start_after_batches_in_epoch_completed:
            self._losses, self._is_continued = state["losses"], True
            if state["losses_of_nef"] is not None:
                trainer._losses = state["losses_of_nef"]
            set_counts(trainer.model, state["counts"])
            # AllenNLP leaves out the scores of the epoch where this is the number of its batches.
            trainer._start_after_batches_in_epoch_completed = 0

    @overrides(check_signature=False)
    def on_batch(
        self,
        trainer: Any,
        batch_inputs: Any,
        batch_outputs: list[Any],
        batch_metrics: dict[str, Any],
        epoch: int,
        batch_number: int,
        is_training: bool,
        **kwargs: Any,
    ) -> None:
        if is_training:
            self._losses[0] += batch_metrics["batch_loss"]
            for _ in batch_outputs:
                self._losses[1] += batch_metrics.get("batch_reg_loss", 0.0)

    @overrides(check_signature=False)
    def on_epoch(
        self,
        trainer: Any,
        metrics: dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        self._metrics = metrics
        if not self._is_continued:
            return
        # The trainer's own sums are those of the batches since the recovery, but for the losses of the trainer `nef`.
        batches = dist_reduce_sum(trainer._batches_in_epoch_completed)
        loss, penalty = (float(dist_reduce_sum(total) / batches) for total in self._losses)
        if not hasattr(trainer, "_losses"):
            metrics["training_loss"] = loss
        if "training_reg_loss" in metrics:
            metrics["training_reg_loss"] = penalty
        if is_primary:
            dump_metrics(
                os.path.join(self.serialization_dir, f"metrics_epoch_{epoch}.json"), metrics
            )

    @overrides(check_signature=False)
    def on_end(self, trainer: Any, metrics: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.termination.stop()
        if metrics is None:
            return  # an exception
        if "epoch" not in metrics:  # all epochs were finished before the recovery
            metrics.update({**self._metrics, **metrics})
        if self.termination.requested:  # after the last checkpoint
            os.kill(os.getpid(), signal.SIGTERM)


class _Loader:
    """A data loader whose batches are given by a function."""

    def __init__(self, loader: Any, batches: Callable[[], Iterator[Any]]) -> None:
        self._loader = loader
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self._batches()

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def calling_trainer() -> Any:
    """The trainer that called the checkpointer, which is not told."""
    frame = inspect.currentframe()
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), GradientDescentTrainer):
            return frame.f_locals["self"]
        frame = frame.f_back
    raise ConfigurationError(
        "checkpointer: expected the trainer gradient_descent for the type resumable"
    )
