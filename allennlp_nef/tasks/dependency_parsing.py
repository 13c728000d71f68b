"""A graph-based dependency parser: Kiperwasser and Goldberg, "Simple and Accurate Dependency Parsing Using
Bidirectional LSTM Feature Representations" (TACL 2016), Sections 4 and 5."""

import math
from typing import Any

import torch
from allennlp.common.checks import check_dimensions_match
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Embedding, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.training.metrics import AttachmentScores

from allennlp_nef.data.fields import UNSEEN, labels_of
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.tasks.eisner import projective_heads


class ArcScores(torch.nn.Module):
    """Scores of arcs by an MLP over the states of a head and a word: v . tanh(W_h h + W_m m + b)."""

    def __init__(self, states_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        torch.nn.init.uniform_(self.vector, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the root and the words (batch, words + 1, dim) -> scores (batch, words, words + 1)."""
        words, heads = self.words(states[:, 1:]), self.heads(states)
        return torch.tanh(words.unsqueeze(2) + heads.unsqueeze(1)) @ self.vector


class LabelScores(torch.nn.Module):
    """Scores of the labels of given arcs, by an MLP of the same form with one output for each label."""

    def __init__(self, states_dim: int, hidden_dim: int, num_labels: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.labels = torch.nn.Linear(hidden_dim, num_labels)

    def forward(self, states: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """States (batch, words + 1, dim) and heads (batch, words) -> scores (batch, words, labels)."""
        hidden = self.heads(states)
        index = heads.unsqueeze(-1).expand(-1, -1, hidden.size(-1))
        return self.labels(torch.tanh(hidden.gather(1, index) + self.words(states[:, 1:])))


def margin_loss(scores: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the sum over words of max(0, 1 + highest score of a wrong label - score of the gold label).

    # Parameters

    scores : `torch.Tensor`, (batch, words, labels)
    gold : `torch.LongTensor`, (batch, words)
        Negative for a label that the model does not know; such a word is left out.
    mask : `torch.BoolTensor`, (batch, words)
    """
    index = gold.clamp(min=0).unsqueeze(-1)
    wrong = scores.scatter(-1, index, -math.inf).amax(-1)
    losses = (1 + wrong - scores.gather(-1, index).squeeze(-1)).clamp(min=0)
    return losses.masked_fill(~mask | (gold < 0), 0).sum()


def best_trees(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the heads of the best projective trees (batch, words) for arc scores (batch, words, words + 1)."""
    heads = projective_heads(scores.detach().float().cpu().numpy(), mask.sum(-1).tolist())
    return torch.from_numpy(heads).to(mask.device)


@Model.register("arc_mlp_parser")
class ArcMlpParser(Model):
    """A dependency parser that scores all arcs and finds the best projective tree with Eisner's algorithm.

    The encoder computes a state of each word and of the root, a vector before the first word. The loss of a sentence is
    the structured hinge loss with cost augmentation: the highest score of a tree, where each wrong head adds 1, minus
    the score of the gold tree. A second MLP scores the labels of the gold arcs, with a hinge loss. The loss of a batch
    is the mean over its words.

    If the training data have the label `root`, the root of a tree gets this label, and no other word does.

    The metrics are AllenNLP's `AttachmentScores` of all words, punctuation included. In training, they are computed
    from the best head of each word, which need not form a tree, and the labels of the gold arcs.

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
    encoder : `Seq2SeqEncoder`
    pos_tag_embedding : `Embedding`, optional (default = `None`, tags are not used)
        Its `vocab_namespace` is "pos".
    arc_dim, label_dim : `int`, optional (default = `100`)
        The dimensions of the hidden layers.
    dropout : `float`, optional (default = `0.0`)
        Applied to the input and the output of the encoder.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    label_namespace : `str`, optional (default = `"head_tags"`)
        The vocabulary namespace of the dependency labels.
    """

    default_predictor = "dependency_parser"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        pos_tag_embedding: Embedding | None = None,
        arc_dim: int = 100,
        label_dim: int = 100,
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        label_namespace: str = "head_tags",
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        self.text_field_embedder = text_field_embedder
        self.pos_tag_embedding = pos_tag_embedding
        self.encoder = encoder
        self.dropout = torch.nn.Dropout(dropout)
        dim = text_field_embedder.get_output_dim()
        if pos_tag_embedding is not None:
            dim += pos_tag_embedding.get_output_dim()
        check_dimensions_match(dim, encoder.get_input_dim(), "embedding dim", "encoder input dim")
        self.root = torch.nn.Parameter(torch.randn(dim))
        states_dim = encoder.get_output_dim()
        self.arcs = ArcScores(states_dim, arc_dim)
        self.label_names = labels_of(vocab, label_namespace)
        self.labels = LabelScores(states_dim, label_dim, len(self.label_names))
        self.root_label = self.label_names.index("root") if "root" in self.label_names else None
        self._attachment = AttachmentScores()
        initializer(self)

    def forward(
        self,
        words: TextFieldTensors,
        pos_tags: torch.Tensor,
        metadata: list[dict[str, Any]] | None = None,
        head_tags: torch.Tensor | None = None,
        head_indices: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        words : `TextFieldTensors`
        pos_tags : `torch.LongTensor`, (batch, words)
        metadata : `list[dict[str, Any]]`, optional (default = `None`)
            Not used.
        head_tags, head_indices : `torch.LongTensor`, (batch, words), optional (default = `None`, not known)
            The labels, and the heads from 1, with 0 for the root.

        # Returns

        `dict[str, torch.Tensor]`
            `loss`, if the tree is known. In evaluation mode, also `mask` and `heads`, (batch, words);
            `head_probabilities`, (batch, words), from the softmax over the scores of all heads of a word;
            `label_scores`, (batch, words, labels), for the arcs in `heads`.
        """
        mask = get_text_field_mask(words)
        states = self._states(words, pos_tags, mask)
        scores = self._arc_scores(states, mask)
        output: dict[str, torch.Tensor] = {}
        if head_tags is not None:
            head_tags = head_tags.masked_fill(head_tags >= len(self.label_names), UNSEEN)
        if head_indices is not None and head_tags is not None:
            label_scores = self.labels(states, head_indices)
            loss = self._tree_loss(scores, head_indices, mask)
            loss = loss + margin_loss(label_scores, head_tags, mask)
            output["loss"] = loss / mask.sum().clamp(min=1)
            if self.training:
                predicted = scores.argmax(-1), label_scores.argmax(-1)
                self._attachment(*predicted, head_indices, head_tags, mask)
                return output
        heads = best_trees(scores, mask)
        label_scores = self._with_root_label(self.labels(states, heads), heads)
        if head_indices is not None and head_tags is not None:
            self._attachment(heads, label_scores.argmax(-1), head_indices, head_tags, mask)
        probabilities = scores.softmax(-1).gather(-1, heads.unsqueeze(-1)).squeeze(-1)
        output.update(mask=mask, heads=heads, head_probabilities=probabilities)
        return {**output, "label_scores": label_scores}

    def _states(
        self, words: TextFieldTensors, pos_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the states of the root and the words: (batch, words + 1, dim)."""
        vectors = self.text_field_embedder(words)
        if self.pos_tag_embedding is not None:
            vectors = torch.cat([vectors, self.pos_tag_embedding(pos_tags)], -1)
        root = self.root.to(vectors).expand(len(vectors), 1, -1)
        vectors = torch.cat([root, zero_padding(vectors, mask)], 1)
        mask = torch.cat([mask.new_ones(len(mask), 1), mask], 1)
        return self.dropout(zero_padding(self.encoder(self.dropout(vectors), mask), mask))

    def _arc_scores(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, words, words + 1); negative infinity for padding and for a word as its own head."""
        count = mask.size(1)
        own = torch.eye(count, count + 1, dtype=torch.bool, device=mask.device).roll(1, 1)
        padding = torch.cat([mask.new_zeros(len(mask), 1), ~mask], 1).unsqueeze(1)
        return self.arcs(states).masked_fill(own | padding, -math.inf)

    def _tree_loss(
        self, scores: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the structured hinge loss, summed over the sentences."""
        index = gold.unsqueeze(-1)
        costs = torch.ones_like(scores).scatter(-1, index, 0)
        heads = best_trees(scores + costs, mask)
        margins = scores.gather(-1, heads.unsqueeze(-1)) - scores.gather(-1, index)
        margins = (margins.squeeze(-1) + (heads != gold)).masked_fill(~mask, 0)
        # a gold tree that is not projective may score higher than the best one that is
        return margins.sum(-1).clamp(min=0).sum()

    def _with_root_label(self, scores: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """Returns scores (batch, words, labels) that allow only the label `root` at the root, and only there."""
        if self.root_label is None or scores.size(-1) == 1:
            return scores
        is_root_label = torch.arange(scores.size(-1), device=scores.device) == self.root_label
        return scores.masked_fill((heads == 0).unsqueeze(-1) != is_root_label, -math.inf)

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Lists for each sentence: `predicted_heads` and `predicted_dependencies`, the names of allennlp-models'
        `biaffine_parser`, `head_probabilities`, and `label_probabilities` given the heads."""
        probabilities, labels = output_dict["label_scores"].softmax(-1).max(-1)
        lengths = output_dict["mask"].sum(-1).tolist()

        def rows(values: torch.Tensor) -> list[list[Any]]:
            return [row[:length] for row, length in zip(values.tolist(), lengths)]

        readable = {"loss": output_dict["loss"]} if "loss" in output_dict else {}
        return {
            **readable,
            "predicted_heads": rows(output_dict["heads"]),
            "predicted_dependencies": [[self.label_names[i] for i in row] for row in rows(labels)],
            "head_probabilities": rows(output_dict["head_probabilities"]),
            "label_probabilities": rows(probabilities),
        }

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        scores: dict[str, float] = self._attachment.get_metric(reset)
        return scores
