"""The trainer `nef`, and what the processes of a distributed training do together before the first epoch."""

import atexit
import gc
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from itertools import cycle, islice
from typing import Any

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader
from allennlp.data.data_loaders import TensorDict
from allennlp.data.samplers import MaxTokensBatchSampler
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME
from allennlp.nn.parallel import TorchDdpAccelerator
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from allennlp_nef.errors import unknown_option
from allennlp_nef.metrics import CountingMetric
from allennlp_nef.modules.input_representations import RareWords
from allennlp_nef.modules.options import check_integers
from allennlp_nef.saved_versions import always_record_versions
from allennlp_nef.training.batch_samplers import MaxPiecesBatchSampler
from allennlp_nef.training.checkpointer import ResumableCheckpointer
from allennlp_nef.training.recovery import Recovery, gather


def fuse_steps(optimizer: torch.optim.Optimizer, model: torch.nn.Module) -> None:
    """Lets torch's optimizers update each parameter on a CPU in one pass (`fused`).

    Without it the optimizer goes through the embeddings of all words several times. With 26,000 rows of words and
    affixes that takes a fourth of a training step. Values differ from the plain form by rounding.

    Nothing is changed if the optimizer was made with its own choice of `fused`, `foreach` or `differentiable`, or where
    torch has no fused form: on other devices and with embeddings whose gradients are sparse.
    """
    defaults = optimizer.defaults
    chosen = any(defaults.get(name) is not None for name in ("fused", "foreach"))
    if "fused" not in defaults or chosen or defaults.get("differentiable"):
        return
    sparse = any(getattr(module, "sparse", False) for module in model.modules())
    for group in optimizer.param_groups:
        dense = all(
            value.device.type == "cpu" and value.is_floating_point() for value in group["params"]
        )
        group["fused"] = True if dense and not sparse else None


def close_at_exit() -> None:
    """Closes the process group when the process ends, and its threads with it.

    Otherwise a thread of gloo may free the last tensor when the interpreter is gone, which is a SIGABRT.
    """
    atexit.register(close_group)


def close_group() -> None:
    """Closes the process group. Its threads end with it."""
    gc.collect()  # the `DistributedDataParallel` is part of a cycle, and the threads live as long as it does
    if dist.is_initialized():
        dist.destroy_process_group()


def refuse_test_data(serialization_dir: str) -> None:
    """Raises a `ConfigurationError` where the test data are to be scored after the training.

    A process has a part of them, and AllenNLP's first process would wait for the others, which have ended.
    """
    path = os.path.join(serialization_dir, CONFIG_NAME)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if json.load(file).get("evaluate_on_test"):
                raise ConfigurationError(
                    "evaluate_on_test: a process of several has a part of the test data; leave it out, and score the "
                    "archive with `allennlp evaluate`"
                )


def freeze(model: Model, patterns: Iterable[str]) -> None:
    """Freezes the parameters whose names some pattern matches. The others are those that `accelerator` waits for."""
    for name, parameter in model.named_parameters():
        if any(re.search(pattern, name) for pattern in patterns):
            parameter.requires_grad_(False)


def accelerator(device: int) -> TorchDdpAccelerator:
    """`DistributedDataParallel` with less to copy and to send.

    Gradients are computed where they are sent from. Buffers are not sent: those of this package are constants.
    """
    result = TorchDdpAccelerator(cuda_device=device)
    result._ddp_kwargs.update(gradient_as_bucket_view=True, broadcast_buffers=False)
    return result


def share_cores() -> None:
    """Divides the cores of the host by its processes, unless `OMP_NUM_THREADS` says how many threads each has."""
    if "OMP_NUM_THREADS" not in os.environ:
        processes = int(os.environ.get("ALLENNLP_PROCS_PER_NODE", "1"))
        torch.set_num_threads(max(1, torch.get_num_threads() // processes))


def share_evenly(data_loader: DataLoader) -> None:
    """Lets all processes have the same number of sentences, and of batches: those that have fewer repeat some.

    So does torch's `DistributedSampler` with sentences. The batches of `max_tokens_sampler` and `max_pieces` can still
    differ, in each epoch anew: all processes take as many as the one with the most has now. One that has fewer begins
    its next pass. A loader that does not keep its sentences stays as it is.
    """
    instances = getattr(data_loader, "_instances", None)
    numbers = gather(None if instances is None else len(instances))
    if instances is None or None in numbers:
        return
    if 0 in numbers:
        raise ConfigurationError(
            f"train_data_path: expected at least a sentence for each of {len(numbers)} processes, got {sum(numbers)}"
        )
    instances += list(islice(cycle(instances[:]), max(numbers) - len(instances)))
    batches = gather(len(data_loader))
    sampler = getattr(data_loader, "batch_sampler", None)
    varies = isinstance(sampler, MaxTokensBatchSampler | MaxPiecesBatchSampler)
    if varies or len(set(batches)) > 1:
        data_loader.batches_per_epoch = max(batches)  # type: ignore[attr-defined]


def count_rare_words(model: Model, data_loader: DataLoader) -> None:
    """Tells `rare_words` how often each word occurs in the data of all processes, which read the vocabulary from files.

    A model that has been trained before knows it.
    """
    modules = [
        module
        for module in model.modules()
        if isinstance(module, RareWords) and not module.is_counted
    ]
    if not modules:
        return
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for instance in data_loader.iter_instances():
        instance.count_vocab_items(counts)
    for module in modules:
        total: dict[str, int] = defaultdict(int)
        for part in gather(dict(counts[module.namespace])):
            for word, count in part.items():
                total[word] += count
        module.count(total, model.vocab.get_token_to_index_vocabulary(module.namespace))


_construct: Any = GradientDescentTrainer.from_partial_objects
# Options that AllenNLP's commands give a trainer, besides those of the config.
_GIVEN = {"model", "serialization_dir", "data_loader", "validation_data_loader", "local_rank"}
_GIVEN |= {"world_size", "distributed", "ddp_accelerator", "ddp_wrapped_model"}


@Trainer.register("nef", constructor="from_partial_objects")
class NefTrainer(GradientDescentTrainer):
    """AllenNLP's `gradient_descent`, for one process and for several (`distributed`). It takes the options of that.

    With several processes:

    - A validation counts each sentence once, whatever the number of batches of a process. (AllenNLP's stops when the
      first process is done. It is used where a metric of the model is no `CountingMetric`; those of this package are.)
    - All processes take the same number of training sentences: those that have fewer take some of their own twice.
      (AllenNLP's leaves out the last batches of the others. So does this one where the `data_loader` has
      `max_instances_in_memory`.)
    - `no_grad` and `rare_words` work, which they do not in AllenNLP's.
    - The threads of a process are its share of the cores, unless `OMP_NUM_THREADS` is set.

    On CPUs torch's optimizers update each parameter in one pass (`fuse_steps`).

    The losses of an epoch are means over what the loss of a batch is a mean over (`average` of `TagHead`), so they do
    not depend on how data are cut into batches. Those of models of other packages are means over batches.

    Registered as a `Trainer` with name "nef".

    # Raises

    `ConfigurationError`: an option that does not exist, which AllenNLP's ignores; `use_amp` without a GPU; with several
    processes, fewer training sentences than processes, checkpoints of hosts that differ, or `evaluate_on_test`.
    """

    _serialization_dir: str | None
    _losses = torch.zeros(4, dtype=torch.double)
    """Of an epoch so far: the weighted sum of the losses and the sum of the weights; the sum of the penalties of
    regularization, one an update, and the number of updates that have one."""
    _recovery: Recovery | None = None
    """Where the checkpointer is `resumable`."""

    @classmethod
    @wraps(_construct.__func__)  # AllenNLP reads the options off the signature
    def from_partial_objects(  # type: ignore[override]
        cls, model: Model, serialization_dir: str, data_loader: DataLoader, **options: Any
    ) -> Trainer:
        # The constructor of a subclass may have options of its own.
        known = {*signature(_construct).parameters, *signature(cls).parameters} - {"kwargs"}
        for name in sorted(options.keys() - known):
            raise ConfigurationError(unknown_option("trainer", name, known - _GIVEN))
        if options.get("patience") is not None:
            check_integers(**{"trainer.patience": options["patience"]})
        if options.get("use_amp") and not torch.cuda.is_available():
            raise ConfigurationError("trainer: use_amp: expected a GPU, got none")
        always_record_versions(model)  # also those of AllenNLP
        if options.get("distributed"):
            close_at_exit()
            refuse_test_data(serialization_dir)
            device = options.get("cuda_device", -1)
            freeze(model, options.get("no_grad") or [])
            count_rare_words(model, data_loader)
            share_evenly(data_loader)
            if device == -1:
                share_cores()
            if options.get("ddp_accelerator") is None:
                options["ddp_accelerator"] = accelerator(device)
        return super().from_partial_objects(model, serialization_dir, data_loader, **options)

    @overrides
    def batch_outputs(self, batch: TensorDict, for_training: bool) -> dict[str, torch.Tensor]:
        outputs: dict[str, torch.Tensor] = super().batch_outputs(batch, for_training)
        if "loss" in outputs:
            weight = getattr(self.model, "loss_weight", None)
            weight = 1.0 if weight is None else weight.item()
            added = [weight * outputs["loss"].item(), weight, 0.0, 0.0]
            if "reg_loss" in outputs and self._losses[3] == self._batches_in_epoch_completed:
                added[2:] = outputs["reg_loss"].item(), 1.0  # the first batch of an update
            self._losses = self._losses + torch.tensor(added, dtype=torch.double)
        return outputs

    @overrides
    def _try_train(self) -> tuple[dict[str, Any], int]:
        # A checkpoint that was restored may be from another device.
        fuse_steps(self.optimizer, self.model)
        metrics, epoch = super()._try_train()
        if "epoch" not in metrics:  # all epochs were finished before the recovery
            last = f"metrics_epoch_{self._epochs_completed - 1}.json"
            path = os.path.join(str(self._serialization_dir), last)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    metrics = {**json.load(file), **metrics}
        return metrics, epoch

    @overrides
    def _train_epoch(self, epoch: int) -> dict[str, float]:
        self._losses = torch.zeros(4, dtype=torch.double)
        loader = self.data_loader
        if self._recovery is not None:
            batches: Any = _Batches(self._recovery.batches(loader), loader)
            self.data_loader = batches
        try:
            metrics: dict[str, float] = super()._train_epoch(epoch)
        finally:
            self.data_loader = loader
        if "loss" in metrics:  # not in an epoch that was done before a recovery
            total, weight, penalty, updates = dist_reduce_sum(self._losses).tolist()
            metrics["loss"] = total / weight if weight else 0.0
            if updates:
                metrics["reg_loss"] = penalty / updates
        return metrics

    @overrides(check_signature=False)
    def _validation_loss(self, epoch: int) -> tuple[torch.Tensor, float | None, torch.Tensor]:
        """The weighted sum of the losses, and the sum of the weights, which AllenNLP divides it by."""
        self._losses = torch.zeros(4, dtype=torch.double)
        with self._independently():
            _, regularization, _ = super()._validation_loss(epoch)
        total, weight = self._losses[:2]
        return total, regularization, weight

    @contextmanager
    def _independently(self) -> Iterator[None]:
        """Lets this process go through its data without waiting for the others in each batch, where it can."""
        distributed, wrapped = self._distributed, self._ddp_wrapped_model
        metrics = getattr(self.model, "metrics", None)
        if (
            wrapped is None
            or wrapped.is_sharded
            or not isinstance(metrics, list)
            or not all(isinstance(metric, CountingMetric) for metric in metrics)
        ):
            yield
            return
        self._distributed, self._ddp_wrapped_model = False, None
        try:
            yield
        finally:
            self._distributed, self._ddp_wrapped_model = distributed, wrapped

    @overrides
    def get_checkpoint_state(self) -> TrainerCheckpoint | None:
        """As AllenNLP's, and the state of `Recovery`. All processes have to call this."""
        recovery = None if self._recovery is None else self._recovery.state()
        checkpoint = super().get_checkpoint_state()
        if checkpoint is not None and recovery is not None:
            checkpoint.trainer_state["recovery"] = recovery
        return checkpoint

    @overrides
    def _save_model_state(self, path: str) -> None:
        if isinstance(self._checkpointer, ResumableCheckpointer):
            self._checkpointer.save_best(self, path)
        else:
            super()._save_model_state(path)

    @overrides
    def train(self) -> dict[str, Any]:
        try:
            metrics: dict[str, Any] = super().train()
            return metrics
        finally:
            if self._recovery is not None:
                self._recovery.termination.stop()

    @overrides
    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        if isinstance(self._checkpointer, ResumableCheckpointer):
            self._recovery = Recovery(self)
            if self._checkpointer.recovered is not None:
                self._recovery.restore(self._checkpointer.recovered)
        if not self._distributed:
            return
        points = gather(
            (self._start_after_epochs_completed, self._start_after_batches_in_epoch_completed)
        )
        if len(set(points)) > 1:
            names = (
                f"_e{epochs}_b{batches}.th of process {i}"
                for i, (epochs, batches) in enumerate(points)
            )
            raise ConfigurationError(
                "expected the same checkpoint in the folders of all hosts, got "
                f"{', '.join(names)}: copy model_state and training_state of the newest one"
            )


class _Batches:
    """The batches of an epoch, where their data loader is expected."""

    def __init__(self, batches: Iterator[Any], loader: Any) -> None:
        self._batches = batches
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return self._batches

    def __len__(self) -> int:
        return len(self._loader)  # a lazy loader does not know it
