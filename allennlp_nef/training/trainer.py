"""The trainer `nef`, which recovers exactly from the last finished epoch."""

import os
import random
from functools import wraps
from inspect import signature
from typing import Any

import numpy
import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.nn.parallel import TorchDdpAccelerator
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

RandomStates = dict[str, Any]


def random_states(device: torch.device) -> RandomStates:
    """The random states of Python, NumPy and torch, in types that `torch.load` accepts with `weights_only`.

    `device` is the device of the training.
    """
    kind, keys, *rest = numpy.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (kind, numpy.asarray(keys).tolist(), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
    }


def set_random_states(states: RandomStates, device: torch.device) -> None:
    """Sets the random states that `random_states` returned."""
    random.setstate(states["python"])
    numpy.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)


class EpochStart(TrainerCallback):
    """Adds to checkpoints what the next epoch begins with: the random states and the total number of batches."""

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._states: list[RandomStates] = []  # of all processes
        self._total_batches = 0

    @overrides(check_signature=False)
    def on_start(self, trainer: "NefTrainer", is_primary: bool = True, **kwargs: Any) -> None:
        if not self._states:
            self._record(trainer)

    @overrides(check_signature=False)
    def on_epoch(self, trainer: "NefTrainer", *args: Any, **kwargs: Any) -> None:
        self._record(trainer)

    def _record(self, trainer: "NefTrainer") -> None:
        states = random_states(trainer.cuda_device)
        self._states = [states] * trainer._world_size
        if trainer._distributed:
            dist.all_gather_object(self._states, states)
        self._total_batches = trainer._total_batches_completed

    def restore(self, trainer: "NefTrainer") -> None:
        """Sets what was recorded last."""
        set_random_states(self._states[trainer._rank], trainer.cuda_device)
        trainer._total_batches_completed = self._total_batches

    @overrides
    def state_dict(self) -> dict[str, Any]:
        return {"random_states": self._states, "total_batches": self._total_batches}

    @overrides
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._states = state_dict["random_states"]
        self._total_batches = state_dict["total_batches"]


_from_partial_objects: Any = GradientDescentTrainer.from_partial_objects


@Trainer.register("nef", constructor="from_partial_objects")
class NefTrainer(GradientDescentTrainer):
    """AllenNLP's `gradient_descent`, whose options it takes, with exact recovery.

    `allennlp train --recover` begins again after the last finished epoch and ends with the weights of a training
    without interruption. Finished epochs are skipped without reading their batches. From a checkpoint within an epoch
    (`save_every_num_seconds` or `save_every_num_batches` of the checkpointer) it continues with the same batches, but
    with other random numbers.

    With several processes (`distributed`), parameters may be unused in a batch: the default `ddp_accelerator` has
    `find_unused_parameters`.

    Registered as a `Trainer` with name "nef".

    # Raises

    `ConfigurationError`: an option that does not exist, which AllenNLP ignores.
    """

    _serialization_dir: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._epoch_start = EpochStart(self._serialization_dir)
        self._callbacks.append(self._epoch_start)

    @classmethod
    @wraps(_from_partial_objects.__func__)  # AllenNLP reads the options from the signature
    def from_partial_objects(cls, **options: Any) -> Trainer:  # type: ignore[override]
        for name in options.keys() - signature(_from_partial_objects).parameters.keys():
            raise ConfigurationError(f"trainer: there is no option {name!r}")
        if options.get("distributed") and options.get("ddp_accelerator") is None:
            options["ddp_accelerator"] = TorchDdpAccelerator(
                cuda_device=options["cuda_device"], find_unused_parameters=True
            )
        return super().from_partial_objects(**options)

    @overrides
    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        tracker = self._metric_tracker
        if tracker.should_stop_early():
            self._num_epochs = self._start_after_epochs_completed
        if tracker.best_epoch is None:
            return
        # AllenNLP writes the checkpoint before the best weights, and without their name in the first epoch.
        self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
        is_epoch_end = self._start_after_batches_in_epoch_completed == 0
        if self._primary and is_epoch_end and tracker.is_best_so_far():
            self._save_best_weights(self._best_model_filename)

    def _save_best_weights(self, path: str) -> None:
        if os.path.exists(path):
            os.remove(path)  # a checkpoint may be the same file by a hard link
        if self._moving_average is not None:
            self._moving_average.assign_average_value()
        self._save_model_state(path)
        if self._moving_average is not None:
            self._moving_average.restore()

    @overrides
    def _train_epoch(self, epoch: int) -> dict[str, float]:
        if epoch < self._start_after_epochs_completed:
            return {}
        if epoch == self._start_after_epochs_completed:
            self._epoch_start.restore(self)
        metrics: dict[str, float] = super()._train_epoch(epoch)
        return metrics
