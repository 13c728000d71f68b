"""The classifier of trees."""

from typing import Any

import torch
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from overrides import overrides
from torch.nn import functional

from allennlp_nef.metrics import TagAccuracy
from allennlp_nef.models.base import VersionedModel, check_input_dim
from allennlp_nef.modules.options import check_dropout
from allennlp_nef.modules.tree_encoders import TreeEncoder
from allennlp_nef.nn.numerics import zero_padding


@Model.register("tree_lstm")
class TreeLstm(VersionedModel):
    """
    Gives each node of a tree a label: Tai, Socher and Manning (ACL 2015), Section 4.1.

    A Tree-LSTM gives a state of each node. Words enter at the leaves; other nodes have no input. The label of a node is
    predicted from its state. The loss is the mean cross-entropy of the nodes with a label. The metrics are `accuracy`,
    that of the roots, and `node_accuracy`, that of all nodes with a label.

    Registered as a `Model` with name "tree_lstm".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
    tree_encoder : `TreeEncoder`
    dropout : `float`, optional (default = `0.0`)
        In [0, 1). Of the embedded words, and of the states.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    """

    default_predictor = "tree_lstm"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        tree_encoder: TreeEncoder,
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_dropout(dropout)
        dim = text_field_embedder.get_output_dim()
        check_input_dim("tree_encoder", tree_encoder, dim, "text_field_embedder")
        names = vocab.get_index_to_token_vocabulary("labels")
        self.names = [names[index] for index in range(len(names))]
        self.text_field_embedder = text_field_embedder
        self.tree_encoder = tree_encoder
        self.dropout = torch.nn.Dropout(dropout)
        self.projection = torch.nn.Linear(tree_encoder.get_output_dim(), len(self.names))
        self._accuracy, self._node_accuracy = self.metrics = [TagAccuracy(), TagAccuracy()]
        initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        tokens: TextFieldTensors,
        leaves: torch.Tensor,
        heads: torch.Tensor,
        labels: torch.Tensor | None = None,
        metadata: list[Any] | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        leaves, heads : `torch.LongTensor`, (batch, nodes)
            Of each node: its word, from 1, or 0; its parent, from 1, or 0 for the root, which is the last node.
        labels : `torch.LongTensor`, (batch, nodes), optional (default = `None`, not known)
            Negative for labels that the training data lack.
        metadata : `list[Any]`, optional (default = `None`)
            Not used.

        # Returns

        `dict[str, torch.Tensor]`
            `node_probs`, (batch, nodes, labels); `counts`, (batch,), the number of nodes; `loss`, if labels are known.
        """
        mask = get_text_field_mask(tokens)
        words = zero_padding(self.text_field_embedder(tokens), mask)
        # A binary tree of n words has 2 n - 1 nodes.
        counts = 2 * mask.sum(-1) - 1
        is_node: Any = torch.arange(heads.size(1), device=heads.device) < counts.unsqueeze(-1)
        index = (leaves - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, words.size(-1))
        inputs = words.gather(1, index).masked_fill((leaves == 0).unsqueeze(-1), 0)
        states = self.tree_encoder(self.dropout(inputs), heads, is_node)
        logits = self.projection(self.dropout(states)).float()  # (batch, nodes, labels)
        outputs = {"node_probs": logits.softmax(-1), "counts": counts}
        if labels is not None:
            is_known = is_node & (labels >= 0)
            known = labels.masked_fill(~is_known, -100)
            total = functional.cross_entropy(logits.flatten(0, 1), known.flatten(), reduction="sum")
            outputs["loss"] = total / is_known.sum().clamp(min=1)
            self.loss_weight = is_known.sum().float().clamp(min=1e-30)  # not 0: it divides sums
            predictions = logits.argmax(-1)
            self._node_accuracy(predictions, labels, is_known)
            roots = (counts - 1).unsqueeze(-1)
            at_roots: Any = (each.gather(1, roots) for each in (predictions, labels, is_known))
            self._accuracy(*at_roots)
        return outputs

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Lists for each tree: `node_labels`; `label` and `probabilities` of the root."""
        node_labels, labels, probabilities = [], [], []
        for row, count in zip(output_dict["node_probs"], output_dict["counts"].tolist()):
            names = [self.names[index] for index in row[:count].argmax(-1).tolist()]
            node_labels.append(names)
            labels.append(names[-1])
            probabilities.append(dict(zip(self.names, row[count - 1].tolist())))
        loss = {"loss": output_dict["loss"]} if "loss" in output_dict else {}
        return {**loss, "node_labels": node_labels, "label": labels, "probabilities": probabilities}

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return {
            "accuracy": self._accuracy.get_metric(reset)["accuracy"],
            "node_accuracy": self._node_accuracy.get_metric(reset)["accuracy"],
        }
