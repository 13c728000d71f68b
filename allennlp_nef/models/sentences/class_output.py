from typing import Any, ClassVar

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import CategoricalAccuracy
from overrides import overrides
from torch.nn import functional

from allennlp_nef.models.sentences.pair_output import PairOutput


@PairOutput.register("classes")
class ClassOutput(PairOutput):
    """A softmax over classes, such as those of entailment. The loss is the cross-entropy, the metric is `accuracy`.

    Registered as a `PairOutput` with name "classes".

    # Parameters

    vocab : `Vocabulary`
    input_dim : `int`
        The dimension of the features; the model fills it in.
    """

    gold: ClassVar[str] = "label"

    def __init__(self, vocab: Vocabulary, input_dim: int) -> None:
        super().__init__()
        names = vocab.get_index_to_token_vocabulary("labels")
        if not names:
            raise ConfigurationError("label: expected classes in the training data, got none")
        self.labels = [names[index] for index in range(len(names))]
        self.projection = torch.nn.Linear(input_dim, len(self.labels))
        self.accuracy = CategoricalAccuracy()

    @overrides
    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, labels)
        outputs = {"probs": logits.softmax(-1)}
        if gold is not None:
            outputs["loss"] = functional.cross_entropy(logits, gold)
            self.accuracy(logits, gold)
        return outputs

    @overrides
    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        return {
            "label": [self.labels[index] for index in outputs["probs"].argmax(-1).tolist()],
            "probabilities": [dict(zip(self.labels, row)) for row in outputs["probs"].tolist()],
        }

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return {"accuracy": self.accuracy.get_metric(reset)}
