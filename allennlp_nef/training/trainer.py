"""The `nef` trainer, which recovers exactly from the last checkpoint."""

import json
import logging
import math
import os
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy
import torch
import torch.distributed as dist
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import TensorDict
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.nn.parallel import TorchDdpAccelerator
from allennlp.training import Checkpointer, GradientDescentTrainer, Trainer
from allennlp.training.callbacks import TrackEpochCallback
from allennlp.training.trainer import TrainerCheckpoint

from allennlp_nef.errors import UserError, quote
from allennlp_nef.options import check_integers

logger = logging.getLogger(__name__)

MAY_CHANGE = {"trainer.num_epochs", "trainer.patience", "trainer.cuda_device"}
"""The config keys that may change when training is recovered."""
RandomStates = dict[str, Any]


def random_states(device: torch.device) -> RandomStates:
    """Returns the random states of Python, NumPy and torch, in types that `torch.load` accepts with `weights_only`.

    `device` is the device used for training.
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


def check_recovery(
    saved: dict[str, Any], config: dict[str, Any], may_change: Collection[str] = ()
) -> None:
    """Raises a `ConfigurationError` that names the first key in which a config differs from that of the recovered
    run."""
    before, now = (Params(each).as_flat_dict() for each in (saved, config))
    rest = f"only {', '.join(sorted(may_change))} may change" if may_change else "it may not change"
    for key in sorted((before.keys() | now.keys()) - {*may_change}):
        if before.get(key) != now.get(key):
            raise ConfigurationError(
                f"{key}: expected {quote(before.get(key))} as at the start of training, got {quote(now.get(key))}; "
                f"with --recover, {rest}"
            )


def config_of(folder: str | Path) -> dict[str, Any]:
    """Returns the config in a run folder; empty if there is none, as for a trainer constructed in Python."""
    path = Path(folder, CONFIG_NAME)
    config: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return config


def fuse_steps(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> None:
    """Makes torch's optimizers update each parameter in one pass on CPUs (`fused`), unless gradients are sparse.

    Call it after a checkpoint is restored, which may come from another device. Leaves optimizers alone whose `fused` or
    `foreach` was set explicitly.
    """
    if any(optimizer.defaults.get(name, False) is not None for name in ("fused", "foreach")):
        return
    is_sparse = any(getattr(module, "sparse", False) for module in model.modules())
    for group in optimizer.param_groups:
        is_on_cpu = all(weight.device.type == "cpu" for weight in group["params"])
        group["fused"] = True if is_on_cpu and not is_sparse else None


@dataclass
class RemainingBatches:
    """The batches of an epoch except for those done before the checkpoint."""

    loader: Any
    num_done: int
    restore: Callable[[], None]
    """Called before the first remaining batch, to restore the random states."""

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[TensorDict]:
        batches = iter(self.loader)
        for _ in islice(batches, self.num_done):
            pass
        self.restore()
        yield from batches


def starts_anew(loader: Any) -> bool:
    """Returns whether each epoch of a data loader depends only on the random states at its start."""
    is_stateless = isinstance(loader, MultiProcessDataLoader)
    return is_stateless and loader.batches_per_epoch is None


class CompleteCheckpointer(Checkpointer):
    """AllenNLP's checkpointer, which ignores a checkpoint that was not completely written.

    Each file of a checkpoint gets its name when it is complete.
    """

    def save_checkpoint(self, trainer: Trainer) -> None:
        checkpoint = trainer.get_checkpoint_state()
        if checkpoint is not None and self._serialization_dir is not None:
            state = checkpoint.trainer_state
            paths = self._paths(state["epochs_completed"], state["batches_in_epoch_completed"])
            for path, values in zip(paths, checkpoint):
                torch.save(values, f"{path}.part")
                os.replace(f"{path}.part", path)
        super().save_checkpoint(trainer)  # finds both files, and removes those of old checkpoints

    def _find_all_checkpoints(self) -> set[tuple[int, int]]:
        points = super()._find_all_checkpoints()
        # Torch's files are zip archives; a truncated one lacks the directory at its end.
        return {point for point in points if all(map(is_zipfile, self._paths(*point)))}

    def _paths(self, epochs: int, batches: int) -> tuple[str, str]:
        return self._model_state_path(epochs, batches), self._training_state_path(epochs, batches)


_from_partial_objects: Any = GradientDescentTrainer.from_partial_objects


@Trainer.register("nef", constructor="from_partial_objects")
class NefTrainer(GradientDescentTrainer):
    """AllenNLP's `gradient_descent`, with the same options and exact recovery.

    `allennlp train --recover` continues from the last checkpoint and ends with the same weights as an uninterrupted
    run. Finished epochs are skipped without reading their batches. If the checkpoint was saved within an epoch
    (`save_every_num_seconds` or `save_every_num_batches` of the checkpointer), the batches before it are read again,
    and this epoch has no training metrics. Only the config keys in `MAY_CHANGE` may have changed.

    A data loader whose epochs continue each other cannot be recovered: one with `batches_per_epoch`, or of a type other
    than `multiprocess`. The order of instances from several worker processes (`num_workers`) depends on their timing,
    and Python reseeds each worker process, so it shuffles differently in each run, recovered or not.

    If the loss becomes NaN, the archive of the best epoch is written before the error is raised.

    With several processes (`distributed`), parameters may be unused in a batch: the default `ddp_accelerator` has
    `find_unused_parameters`.

    # Raises

    `ConfigurationError`: an unknown option, which AllenNLP would ignore; a recovery that would not be exact, or with a
    config that has changed since the checkpoint. `UserError`: the loss is NaN.
    """

    _serialization_dir: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if type(self._checkpointer) is Checkpointer:
            self._checkpointer.__class__ = CompleteCheckpointer
        self._config = config_of(self._serialization_dir)
        self._epoch_start: RandomStates = {}
        self._recovered: dict[str, Any] = {}  # what `get_checkpoint_state` added to the checkpoint

    @classmethod
    @wraps(_from_partial_objects.__func__)  # AllenNLP reads the options from the signature
    def from_partial_objects(cls, **options: Any) -> Trainer:  # type: ignore[override]
        for name in options.keys() - signature(_from_partial_objects).parameters.keys():
            raise ConfigurationError(f"trainer: unknown option {name!r}")
        for name in ("num_epochs", "num_gradient_accumulation_steps"):
            check_integers(**{name: options.get(name, 1)})
        for name in ("grad_norm", "grad_clipping"):
            value = options.get(name)
            if not (isinstance(value, bool | None) or 0 < value < math.inf):
                raise ConfigurationError(f"{name}: expected a number above 0, got {value!r}")
        if options.get("distributed") and options.get("ddp_accelerator") is None:
            options["ddp_accelerator"] = TorchDdpAccelerator(
                cuda_device=options["cuda_device"], find_unused_parameters=True
            )
        return super().from_partial_objects(**options)

    def train(self) -> dict[str, Any]:
        try:
            metrics: dict[str, Any] = super().train()
        except ValueError as error:
            if str(error) != "nan loss encountered":
                raise
            saved = "no epoch" if self._best_model_filename is None else "the best epoch"
            if self._primary and self._best_model_filename is not None:
                extra = self._config.get("include_in_archive")
                archive_model(self._serialization_dir, include_in_archive=extra)
            raise UserError(
                f"the loss is NaN in batch {self._batches_in_epoch_completed} of epoch {self._epochs_completed} "
                f"(from 0), {saved} before it is archived; try a lower learning rate, or trainer.grad_norm"
            ) from error
        done = self._start_after_epochs_completed
        if done and "epoch" not in metrics:  # no epoch was left to train
            path = Path(self._serialization_dir, f"metrics_epoch_{done - 1}.json")
            metrics = json.loads(path.read_text("utf-8"))
        return metrics

    def get_checkpoint_state(self) -> TrainerCheckpoint | None:
        now = random_states(self.cuda_device)
        states = [(self._epoch_start if self._batches_in_epoch_completed else now, now)]
        if self._distributed:
            states *= self._world_size
            dist.all_gather_object(states, states[0])
        checkpoint: TrainerCheckpoint | None = super().get_checkpoint_state()
        if checkpoint is None and self._checkpointer is not None:
            # AllenNLP only records this in the process that saves, but all must get here at the same batches.
            self._checkpointer._last_save_num_epochs_completed = self._epochs_completed
            self._checkpointer._last_save_num_batches_in_epoch_completed = (
                self._batches_in_epoch_completed
            )
        if checkpoint is not None:
            checkpoint.trainer_state["nef"] = {
                "config": self._config,
                "random_states": states,  # of all processes, at the start of the epoch and now
                "batches_in_epoch": self._batches_in_epoch_completed,
                "total_batches": self._total_batches_completed,
                "is_trained": [weight.requires_grad for weight in self.model.parameters()],
                "should_validate": self._should_validate_this_epoch,
                "scaler": self._scaler and self._scaler.state_dict(),
            }
        return checkpoint

    def _maybe_restore_checkpoint(self) -> None:
        """Restores a checkpoint, except for what only applies at the start of the next epoch."""
        checkpoint = None if self._checkpointer is None else self._checkpointer.load_checkpoint()
        if checkpoint is not None:
            state = checkpoint.trainer_state
            self._check(state)
            average: Any = self._moving_average
            parameters = None if average is None else average._parameters
            super()._maybe_restore_checkpoint()
            # again, after the schedulers, which may change it when they are built or loaded
            self.optimizer.load_state_dict(state["optimizer"])
            self._recovered = state["nef"]
            if parameters is not None:
                # AllenNLP replaces them with copies, which are not trained.
                average._parameters = parameters
                for values in (average._shadows, average._backups):
                    values.update({name: values[name].to(each.device) for name, each in parameters})
            if self._scaler is not None:
                self._scaler.load_state_dict(self._recovered["scaler"])
            tracker = self._metric_tracker
            if tracker.should_stop_early():
                self._num_epochs = self._start_after_epochs_completed
            # AllenNLP writes the checkpoint of an epoch before its best weights.
            is_epoch_end = self._recovered["batches_in_epoch"] == 0
            is_validated = is_epoch_end and self._recovered["should_validate"]
            is_best = is_validated and tracker.is_best_so_far()
            if is_best or self._best_model_filename is not None:
                self._best_model_filename = os.path.join(self._serialization_dir, "best.th")
            if is_best and self._primary:
                self._save_best_weights()
        fuse_steps(self.optimizer, self.model)

    def _check(self, state: dict[str, Any]) -> None:
        """Raises a `ConfigurationError` if the recovery from a checkpoint would not be exact."""
        if "nef" not in state:
            raise ConfigurationError(
                "trainer.type: only runs that were started with the trainer nef can be recovered with it"
            )
        check_recovery(state["nef"]["config"], self._config, MAY_CHANGE)
        loaders = (self.data_loader, self._validation_data_loader)
        if not all(loader is None or starts_anew(loader) for loader in loaders):
            raise ConfigurationError(
                "data_loader: checkpoints do not contain the position in the data, so that only data loaders of the "
                "type multiprocess without batches_per_epoch can be recovered"
            )

    def _save_best_weights(self) -> None:
        path = os.path.join(self._serialization_dir, "best.th")
        if os.path.exists(path):
            os.remove(path)  # a checkpoint may be the same file by a hard link
        if self._moving_average is not None:
            self._moving_average.assign_average_value()
        self._save_model_state(path)
        if self._moving_average is not None:
            self._moving_average.restore()

    def _train_epoch(self, epoch: int) -> dict[str, float]:
        if epoch < self._start_after_epochs_completed:
            return {}
        if self._recovered:
            return self._continue_epoch(epoch)
        self._epoch_start = random_states(self.cuda_device)
        metrics: dict[str, float] = super()._train_epoch(epoch)
        return metrics

    def _continue_epoch(self, epoch: int) -> dict[str, float]:
        """Runs the first epoch after a checkpoint. Its metrics are empty if some of its batches were already done."""
        recovered, self._recovered = self._recovered, {}
        self._epoch_start, now = recovered["random_states"][
            dist.get_rank() if self._distributed else 0
        ]
        num_done = self._batches_in_epoch_completed = recovered["batches_in_epoch"]
        self._total_batches_completed = recovered["total_batches"]
        self._should_validate_this_epoch = recovered["should_validate"]
        for weight, is_trained in zip(self.model.parameters(), recovered["is_trained"]):
            weight.requires_grad_(is_trained)
        if any(isinstance(callback, TrackEpochCallback) for callback in self._callbacks):
            setattr(self.model, "epoch", epoch)  # noqa: B010
        set_random_states(self._epoch_start, self.cuda_device)
        loader: Any = self.data_loader
        remaining: Any = RemainingBatches(
            loader,
            num_done * self._num_gradient_accumulation_steps,
            partial(set_random_states, now, self.cuda_device),
        )
        self.data_loader = remaining
        metrics: dict[str, float] = super()._train_epoch(epoch)
        self.data_loader = loader
        return {} if num_done else metrics
