from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader
from allennlp.data.data_loaders import TensorDict
from allennlp.models import Model
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import GradientDescentTrainer, Trainer
from overrides import overrides

from allennlp_nef.errors import unknown_option
from allennlp_nef.metrics import CountingMetric
from allennlp_nef.saved_versions import always_record_versions
from allennlp_nef.training.agreement import gather
from allennlp_nef.training.fused_steps import fuse_steps
from allennlp_nef.training.processes import (
    accelerator,
    close_at_exit,
    count_rare_words,
    freeze,
    refuse_test_data,
    share_cores,
    share_evenly,
)

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
    not depend on how data are cut into batches. AllenNLP's are means over batches.

    Registered as a `Trainer` with name "nef".

    # Raises

    `ConfigurationError`: an option that does not exist, which AllenNLP's ignores; `use_amp` without a GPU; with several
    processes, fewer training sentences than processes, checkpoints of hosts that differ, or `evaluate_on_test`.
    """

    _losses = torch.zeros(2, dtype=torch.double)
    """The weighted sum of the losses of an epoch so far, and the sum of the weights."""

    @classmethod
    @wraps(_construct.__func__)  # AllenNLP reads the options off the signature
    def from_partial_objects(  # type: ignore[override]
        cls, model: Model, serialization_dir: str, data_loader: DataLoader, **options: Any
    ) -> Trainer:
        # The constructor of a subclass may have options of its own.
        known = {*signature(_construct).parameters, *signature(cls).parameters} - {"kwargs"}
        for name in sorted(options.keys() - known):
            raise ConfigurationError(unknown_option("trainer", name, known - _GIVEN))
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
            added = [weight * outputs["loss"].item(), weight]
            self._losses = self._losses + torch.tensor(added, dtype=torch.double)
        return outputs

    @overrides
    def _try_train(self) -> tuple[dict[str, Any], int]:
        # A checkpoint that was restored may be from another device.
        fuse_steps(self.optimizer, self.model)
        result: tuple[dict[str, Any], int] = super()._try_train()
        return result

    @overrides
    def _train_epoch(self, epoch: int) -> dict[str, float]:
        self._losses = torch.zeros(2, dtype=torch.double)
        metrics: dict[str, float] = super()._train_epoch(epoch)
        if "loss" in metrics:  # not in an epoch that was done before a recovery
            total, weight = dist_reduce_sum(self._losses).tolist()
            metrics["loss"] = total / weight if weight else 0.0
        return metrics

    @overrides(check_signature=False)
    def _validation_loss(self, epoch: int) -> tuple[torch.Tensor, float | None, torch.Tensor]:
        """The weighted sum of the losses, and the sum of the weights, which AllenNLP divides it by."""
        self._losses = torch.zeros(2, dtype=torch.double)
        with self._independently():
            _, regularization, _ = super()._validation_loss(epoch)
        total, weight = self._losses
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
    def _maybe_restore_checkpoint(self) -> None:
        super()._maybe_restore_checkpoint()
        if not self._distributed:
            return
        batches, epochs = (
            self._start_after_batches_in_epoch_completed,
            self._start_after_epochs_completed,
        )
        found = gather((epochs, batches))
        if len(set(found)) > 1:
            names = (
                f"_e{epochs}_b{batches}.th of process {i}"
                for i, (epochs, batches) in enumerate(found)
            )
            raise ConfigurationError(
                "expected the same checkpoint in the folders of all hosts, got "
                f"{', '.join(names)}: copy model_state and training_state of the newest one"
            )
