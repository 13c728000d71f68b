"""The evaluator whose loss is that of the trainer `nef`."""

from contextlib import ExitStack
from typing import Any

from allennlp.data import DataLoader
from allennlp.evaluation.evaluator import Evaluator, SimpleEvaluator
from allennlp.models import Model
from overrides import overrides

from allennlp_nef.errors import UserError
from allennlp_nef.models.base import VersionedModel

_WEIGHT = "loss_weight"


@Evaluator.register("nef")
class NefEvaluator(SimpleEvaluator):
    """AllenNLP's `simple`, for `allennlp evaluate`: the loss is the mean that the trainer `nef` reports.

    It is a mean over the sentences (or words: see `average` of `TagHead`) where AllenNLP's is one over batches. With
    models of other packages it is AllenNLP's. A `--batch-weight-key` goes before it. It takes the options of `simple`.

    Registered as an `Evaluator` with name "nef".

    # Raises

    `UserError`: there is no metric, since no sentence has labels.
    """

    @overrides(check_signature=False)
    def __call__(
        self,
        model: Model,
        data_loader: DataLoader,
        batch_weight_key: str | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> dict[str, Any]:
        with ExitStack() as stack:
            if not batch_weight_key and isinstance(model, VersionedModel):
                batch_weight_key = _WEIGHT
                hook = model.register_forward_hook(
                    lambda _, __, out: {**out, _WEIGHT: model.loss_weight}
                )
                stack.callback(hook.remove)
            metrics = super().__call__(model, data_loader, batch_weight_key or "", *args, **kwargs)
        if not metrics:
            data = getattr(data_loader, "data_path", "the data")
            raise UserError(f"{data}: expected sentences with labels to compare with, got none")
        return metrics
