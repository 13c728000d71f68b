"""A classifier of the nodes of trees: Tai, Socher and Manning (ACL 2015), Section 4.1."""

from typing import Any

import torch
from allennlp.common.checks import check_dimensions_match
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.training.metrics import CategoricalAccuracy
from torch.nn import functional

from allennlp_nef.data.fields import NO_LABEL, labels_of
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.tasks.tree_encoders import TreeEncoder


@Model.register("tree_lstm")
class TreeLstm(Model):
    """Labels each node of a tree, for example with the sentiment of a constituent.

    A Tree-LSTM computes a state for each node, from which the label is predicted. Words enter at the leaves; the other
    nodes have no input. The loss is the mean cross-entropy of the nodes. The metrics are `accuracy`, on roots, and
    `node_accuracy`, on all nodes.

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
    tree_encoder : `TreeEncoder`
    dropout : `float`, optional (default = `0.0`)
        Applied to the embedded words and to the states.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    label_namespace : `str`, optional (default = `"labels"`)
    """

    default_predictor = "tree_lstm"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        tree_encoder: TreeEncoder,
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        dims = text_field_embedder.get_output_dim(), tree_encoder.get_input_dim()
        check_dimensions_match(*dims, "embedding dim", "tree_encoder input dim")
        self.labels = labels_of(vocab, label_namespace)
        self.text_field_embedder = text_field_embedder
        self.tree_encoder = tree_encoder
        self.dropout = torch.nn.Dropout(dropout)
        self.projection = torch.nn.Linear(tree_encoder.get_output_dim(), len(self.labels))
        self._accuracy, self._node_accuracy = CategoricalAccuracy(), CategoricalAccuracy()
        initializer(self)

    def forward(
        self,
        tokens: TextFieldTensors,
        leaves: torch.Tensor,
        heads: torch.Tensor,
        labels: torch.Tensor | None = None,
        metadata: list[dict[str, Any]] | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        leaves, heads : `torch.LongTensor`, (batch, nodes)
            For each node its word, from 1, or 0; and its parent, from 1, or 0 for the root, which is the last node.
        labels : `torch.LongTensor`, (batch, nodes), optional (default = `None`, not known)
            Labels that the model does not know count as errors and are ignored in the loss.
        metadata : `list[dict[str, Any]]`, optional (default = `None`)
            Not used.

        # Returns

        `dict[str, torch.Tensor]`
            `node_probs`, (batch, nodes, labels); `counts`, (batch,), the number of nodes; `loss`, if labels are known.
        """
        mask = get_text_field_mask(tokens)
        words = zero_padding(self.text_field_embedder(tokens), mask)
        counts = 2 * mask.sum(-1) - 1  # the nodes of a binary tree over n words
        is_node = torch.arange(heads.size(1), device=heads.device) < counts.unsqueeze(-1)
        index = (leaves - 1).clamp(min=0).unsqueeze(-1).expand(-1, -1, words.size(-1))
        inputs = zero_padding(words.gather(1, index), leaves > 0)  # (batch, nodes, dim)
        states = self.tree_encoder(self.dropout(inputs), heads, is_node)
        logits = self.projection(self.dropout(states)).float()  # (batch, nodes, labels)
        outputs = {"node_probs": logits.softmax(-1), "counts": counts}
        if labels is not None:
            is_known = is_node & (labels >= 0) & (labels < len(self.labels))
            gold = labels.masked_fill(~is_known, NO_LABEL)
            total = functional.cross_entropy(logits.flatten(0, 1), gold.flatten(), reduction="sum")
            outputs["loss"] = total / is_known.sum().clamp(min=1)
            masks: Any = is_node, is_node & (heads == 0)
            self._node_accuracy(logits, gold, masks[0])
            self._accuracy(logits, gold, masks[1])
        return outputs

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Lists for each tree: `node_labels`; `label` and `probabilities` of the root."""
        node_labels, probabilities = [], []
        for row, count in zip(output_dict["node_probs"], output_dict["counts"].tolist()):
            node_labels.append([self.labels[index] for index in row[:count].argmax(-1).tolist()])
            probabilities.append(dict(zip(self.labels, row[count - 1].tolist())))
        loss = {"loss": output_dict["loss"]} if "loss" in output_dict else {}
        labels = [names[-1] for names in node_labels]
        return {**loss, "node_labels": node_labels, "label": labels, "probabilities": probabilities}

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return {
            "accuracy": self._accuracy.get_metric(reset),
            "node_accuracy": self._node_accuracy.get_metric(reset),
        }
