"""The trainer `nef`, which recovers exactly from the last finished epoch."""

import json
import logging
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.distributed as dist
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, TensorDict, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.nn.parallel import TorchDdpAccelerator
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training import util as training_util
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.errors import UserError, quote

logger = logging.getLogger(__name__)

MAX_UNKNOWN = 0.15  # of the validation words, without a warning
MAY_CHANGE = {"trainer.num_epochs", "trainer.patience", "trainer.cuda_device"}
"""The config keys that may change when training is recovered."""
RandomStates = dict[str, Any]


def random_states(device: torch.device) -> RandomStates:
    """The random states of Python, NumPy and torch, in types that `torch.load` accepts with `weights_only`.

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


def config_of(folder: str) -> dict[str, Any]:
    """The config in the folder of a run; empty if there is none, as for a trainer constructed in Python."""
    path = Path(folder, CONFIG_NAME)
    config: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return config


def count_words(instances: Iterable[Instance], vocab: Vocabulary) -> Counter[tuple[str, bool]]:
    """The numbers of words that a namespace of the vocabulary lacks (True) and has (False)."""
    counts: Counter[tuple[str, bool]] = Counter()
    for instance in instances:
        texts = [field for field in instance.fields.values() if isinstance(field, TextField)]
        for text in texts:
            for indexer in text.token_indexers.values():
                namespace = getattr(indexer, "namespace", None)
                if isinstance(indexer, SingleIdTokenIndexer) and namespace is not None:
                    unknown = vocab.get_token_index(DEFAULT_OOV_TOKEN, namespace)
                    ids = indexer.tokens_to_indices(text.tokens, vocab)["tokens"]
                    counts.update((namespace, index == unknown) for index in ids)
    return counts


def warn_about_unknown_words(trainer: "NefTrainer") -> None:
    """Warns if many words of the validation data are unknown, but none of the training data."""
    vocab = trainer.model.vocab
    validation: Any = trainer._validation_data_loader
    counts = count_words(() if validation is None else validation.iter_instances(), vocab)
    shares = {
        namespace: number / (number + counts[namespace, False])
        for (namespace, is_unknown), number in counts.items()
        if is_unknown
    }
    shares = {namespace: share for namespace, share in shares.items() if share > MAX_UNKNOWN}
    if not shares:
        return
    training = count_words(trainer.data_loader.iter_instances(), vocab)
    for namespace, share in shares.items():
        if not training[namespace, True]:
            logger.warning(
                "%.0f%% of the validation words are unknown, but no training word is, so that the unknown word is "
                'not trained. Set a min_count of the vocabulary, such as {"%s": 2}.',
                *(100 * share, namespace),
            )


@contextmanager
def short_descriptions(names: Sequence[str]) -> Iterator[None]:
    """A context in which progress bars show only these metrics."""
    describe = training_util.description_from_metrics

    def describe_shortly(metrics: dict[str, float]) -> str:
        return describe({name: metrics[name] for name in names if name in metrics})

    training_util.description_from_metrics = describe_shortly
    try:
        yield
    finally:
        training_util.description_from_metrics = describe


def fuse_steps(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> None:
    """Makes torch's optimizers update each parameter in one pass on CPUs (`fused`), unless gradients are sparse.

    Call it after a checkpoint is restored, which may come from another device. An optimizer that was made with its own
    choice stays as it is.
    """
    if any(optimizer.defaults.get(name, False) is not None for name in ("fused", "foreach")):
        return
    is_sparse = any(getattr(module, "sparse", False) for module in model.modules())
    for group in optimizer.param_groups:
        is_on_cpu = all(weight.device.type == "cpu" for weight in group["params"])
        group["fused"] = True if is_on_cpu and not is_sparse else None


class EpochStart(TrainerCallback):
    """Adds to checkpoints what the next epoch begins with: the random states and the total number of batches.

    Also adds the config, to notice what has changed when training is recovered.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self.config = config_of(serialization_dir)
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
        """Restores what was recorded last."""
        set_random_states(self._states[trainer._rank], trainer.cuda_device)
        trainer._total_batches_completed = self._total_batches

    @overrides
    def state_dict(self) -> dict[str, Any]:
        return {
            "random_states": self._states,
            "total_batches": self._total_batches,
            "config": self.config,
        }

    @overrides
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._states = state_dict["random_states"]
        self._total_batches = state_dict["total_batches"]


class NanLoss(UserError):
    """The loss of a batch is not a number."""


_from_partial_objects: Any = GradientDescentTrainer.from_partial_objects


@Trainer.register("nef", constructor="from_partial_objects")
class NefTrainer(GradientDescentTrainer):
    """AllenNLP's `gradient_descent`, with the same options and exact recovery.

    `allennlp train --recover` continues after the last finished epoch and ends with the same weights as an
    uninterrupted run. Finished epochs are skipped without reading their batches. From a checkpoint within an epoch
    (`save_every_num_seconds` or `save_every_num_batches` of the checkpointer), it continues with the same batches but
    with different random numbers. Only the config keys in `MAY_CHANGE` may have changed.

    If the loss becomes NaN, the archive of the best epoch is written before the error is raised. Progress bars show the
    loss and the validation metric.

    With several processes (`distributed`), parameters may be unused in a batch: the default `ddp_accelerator` has
    `find_unused_parameters`.

    Registered as a `Trainer` with name "nef".

    # Raises

    `ConfigurationError`: an unknown option, which AllenNLP would ignore, or a config that has changed since the
    checkpoint. `UserError`: the loss is NaN.
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
            raise ConfigurationError(f"trainer: unknown option {name!r}")
        if options.get("distributed") and options.get("ddp_accelerator") is None:
            options["ddp_accelerator"] = TorchDdpAccelerator(
                cuda_device=options["cuda_device"], find_unused_parameters=True
            )
        return super().from_partial_objects(**options)

    @overrides
    def train(self) -> dict[str, Any]:
        if self._primary:
            warn_about_unknown_words(self)
        names = ["loss", *(name for _, name in self._metric_tracker.tracked_metrics)]
        try:
            with short_descriptions(names):
                metrics: dict[str, Any] = super().train()
        except NanLoss:
            if self._primary and self._best_model_filename is not None:
                extra = self._epoch_start.config.get("include_in_archive")
                archive_model(self._serialization_dir, include_in_archive=extra)
            raise
        done = self._start_after_epochs_completed
        if done and "epoch" not in metrics:  # no epoch was left to train
            path = Path(self._serialization_dir, f"metrics_epoch_{done - 1}.json")
            metrics = json.loads(path.read_text("utf-8"))
        return metrics

    @overrides
    def batch_outputs(self, batch: TensorDict, for_training: bool) -> dict[str, torch.Tensor]:
        outputs: dict[str, torch.Tensor] = super().batch_outputs(batch, for_training)
        if for_training and outputs["loss"].isnan():
            epoch, number = self._epochs_completed, self._batches_in_epoch_completed
            saved = "no epoch" if self._best_model_filename is None else "the best epoch"
            raise NanLoss(
                f"the loss is NaN in batch {number} of epoch {epoch} (from 0), {saved} before it is archived; "
                "try a lower learning rate, or trainer.grad_norm"
            )
        return outputs

    @overrides
    def _maybe_restore_checkpoint(self) -> None:
        state = None if self._checkpointer is None else self._checkpointer.load_checkpoint()
        if state is not None:
            self._check_config(state.trainer_state["callbacks"][-1]["config"])
        super()._maybe_restore_checkpoint()
        fuse_steps(self.optimizer, self.model)
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

    def _check_config(self, saved: dict[str, Any]) -> None:
        """Raises a `ConfigurationError` if the config is not the one of a checkpoint."""
        before, now = (Params(each).as_flat_dict() for each in (saved, self._epoch_start.config))
        for key in sorted((before.keys() | now.keys()) - MAY_CHANGE):
            if before.get(key) != now.get(key):
                raise ConfigurationError(
                    f"{key}: expected {quote(before.get(key))} as at the start of training, got "
                    f"{quote(now.get(key))}; with --recover, only {', '.join(sorted(MAY_CHANGE))} may change"
                )

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
