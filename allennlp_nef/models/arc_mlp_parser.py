"""A dependency parser with scores of arcs and of their labels (Kiperwasser and Goldberg, TACL 2016, Section 4)."""

from collections.abc import Sequence
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Embedding, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.chu_liu_edmonds import decode_mst
from allennlp.nn.util import get_text_field_mask
from overrides import overrides

from allennlp_nef.metrics import AttachmentScoresMetric
from allennlp_nef.models.base import DecodeOptions, VersionedModel, check_input_dim, run_encoder
from allennlp_nef.modules.input_representations import RareWords
from allennlp_nef.modules.options import check_dropout, check_integers
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.additive_scores import additive_scores
from allennlp_nef.nn.numerics import zero_padding
from allennlp_nef.nn.parsing import projective_heads, with_root_label


class ArcScores(torch.nn.Module):
    """An MLP with one hidden layer over the states of a head and a word: v . tanh(W_h h + W_m m + b).

    # Parameters

    states_dim, hidden_dim : `int`
    """

    def __init__(self, states_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        torch.nn.init.uniform_(self.vector, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """States of the root and of the words (batch, words + 1, dim) -> (batch, words, words + 1)."""
        return additive_scores(self.words(states[:, 1:]), self.heads(states), self.vector)


class LabelScores(torch.nn.Module):
    """An MLP of the same form, with a score for each label.

    # Parameters

    states_dim, hidden_dim, num_labels : `int`
    """

    def __init__(self, states_dim: int, hidden_dim: int, num_labels: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.labels = torch.nn.Linear(hidden_dim, num_labels)

    def forward(self, states: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """States (batch, words + 1, dim), and the head of each word (batch, words) -> (batch, words, labels)."""
        hidden_heads = self.heads(states)
        index = heads.unsqueeze(-1).expand(-1, -1, hidden_heads.size(-1))
        return self.labels(torch.tanh(hidden_heads.gather(1, index) + self.words(states[:, 1:])))


def margin_loss(scores: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The sum of max(0, 1 + the highest score of another label - that of the gold one) over words with a known label.

    # Parameters

    scores : `torch.Tensor`, (batch, words, labels)
    gold : `torch.LongTensor`, (batch, words)
        Negative where the label is not known to the model.
    mask : `torch.BoolTensor`, (batch, words)
    """
    index = gold.clamp(min=0).unsqueeze(-1)
    wrong = scores.scatter(-1, index, float("-inf")).amax(-1)
    losses = (1 + wrong - scores.gather(-1, index).squeeze(-1)).clamp(min=0)
    return losses.masked_fill(~mask | (gold < 0), 0).sum()


def spanning_tree_heads(scores: numpy.ndarray, lengths: Sequence[int]) -> numpy.ndarray:
    """
    The heads of the tree with the highest score, in which one word is the root: Chu-Liu-Edmonds, as AllenNLP has it.

    Parameters and results are those of `projective_heads`. AllenNLP's function allows several roots. With a large
    number taken from the scores of all roots, the best tree has one, and is the best of those with one.
    """
    heads = numpy.zeros(scores.shape[:2], dtype=int)
    for row, length in enumerate(lengths):
        some = scores[row, :length, : length + 1].astype(float)
        numpy.fill_diagonal(some[:, 1:], 0)
        some[:, 0] -= 1 + length * (some.max() - some.min())
        energy = numpy.zeros((length + 1, length + 1))  # [head, word]
        energy[:, 1:] = some.T
        heads[row, :length] = decode_mst(energy, length + 1, has_labels=False)[0][1:]
    return heads


DECODERS = {"projective": projective_heads, "non_projective": spanning_tree_heads}
LABELS = "head_tags"
"""The vocabulary namespace of the dependency labels."""


@Model.register("arc_mlp_parser")
class ArcMlpParser(VersionedModel):
    """
    A graph-based dependency parser: Kiperwasser & Goldberg, "Simple and Accurate Dependency Parsing Using
    Bidirectional LSTM Feature Representations" (TACL 2016), Sections 4 and 5.

    The encoder gives a state of each word and of the root, which is a vector before the first word. The score of an
    arc is an MLP over the states of its head and its word, and that of a tree is the sum over its arcs. The loss of a
    sentence is the structured hinge loss with cost augmentation: the highest score of a tree, where each wrong head
    adds 1, minus the score of the gold tree. A second MLP scores the labels of the gold arcs, with a hinge loss.
    The loss of a batch is the mean over its words.

    The root of a tree gets the label `root`, and no other word does, if the training data have this label.

    The metrics are UAS and LAS, of all words with punctuation, and UEM and LEM, of whole sentences. In training they
    are those of the best head of each word, which need not be a tree, and of the label of the gold arc.

    Registered as a `Model` with name "arc_mlp_parser".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
    encoder : `Seq2SeqEncoder`
    pos_tag_embedding : `Embedding`, optional (default = `None`, tags are not used)
        Its `vocab_namespace` is "pos".
    rare_words : `RareWords`, optional (default = `None`)
        Replaces words by the unknown word in training.
    arc_dim, label_dim : `int`, optional (default = `100`)
        At least 1. The dimensions of the hidden layers.
    decoder : `str`, optional (default = `"projective"`)
        "projective": Eisner's algorithm. "non_projective": Chu-Liu-Edmonds. In both, one word is the root.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1). Of the input of the encoder, and of its states.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    """

    default_predictor = "dependency_parser"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        pos_tag_embedding: Embedding | None = None,
        rare_words: RareWords | None = None,
        arc_dim: int = 100,
        label_dim: int = 100,
        decoder: str = "projective",
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_integers(arc_dim=arc_dim, label_dim=label_dim)
        check_dropout(dropout)
        if decoder not in DECODERS:
            raise ConfigurationError(
                f"decoder: expected one of {', '.join(DECODERS)}, got {decoder!r}"
            )
        self.text_field_embedder = text_field_embedder
        self.pos_tag_embedding = pos_tag_embedding
        self.rare_words = rare_words
        self.encoder = encoder
        self.decoder = decoder
        self.dropout = torch.nn.Dropout(dropout)
        dim = text_field_embedder.get_output_dim()
        if pos_tag_embedding is not None:
            dim += pos_tag_embedding.get_output_dim()
        check_input_dim("encoder", encoder, dim, "text_field_embedder and pos_tag_embedding")
        self.root = torch.nn.Parameter(torch.randn(dim))
        states_dim = encoder.get_output_dim()
        self.arcs = ArcScores(states_dim, arc_dim)
        labels = vocab.get_token_to_index_vocabulary(LABELS)
        self.labels = LabelScores(states_dim, label_dim, len(labels))
        self.root_label: int | None = labels.get("root")
        self._attachment = AttachmentScoresMetric()
        self.metrics = [self._attachment]
        initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        words: TextFieldTensors,
        pos_tags: torch.Tensor,
        metadata: list[Any] | None = None,
        head_tags: torch.Tensor | None = None,
        head_indices: torch.Tensor | None = None,
        options: list[DecodeOptions] | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        words : `TextFieldTensors`
        pos_tags : `torch.LongTensor`, (batch, words)
        metadata : `list[Any]`, optional (default = `None`)
            Not used.
        head_tags, head_indices : `torch.LongTensor`, (batch, words), optional (default = `None`, not known)
            The labels, and the heads from 1, with 0 for the root. Both give the loss.
        options : `list[DecodeOptions]`, optional (default = `None`)
            What the requests want: `trace` asks for `head_steps`.

        # Returns

        `dict[str, torch.Tensor]`
            `mask` and `heads`, (batch, words); `head_probabilities`, (batch, words): softmax over the scores of the
            heads that a word may have, which need not form a tree; `label_scores`, (batch, words, labels), of the arcs
            in `heads`; `loss`, if the tree is known. In training only `loss`. `head_steps`, (batch, words), if a
            sentence asks for the trace and the encoder ends with `neural_easy_first`: the step, from 1, from which on
            the tree that the states of a step give has the word's final head.

        # Raises

        `ConfigurationError`: training data without trees.
        """
        if self.training and (head_indices is None or head_tags is None):
            raise ConfigurationError(
                "head_indices, head_tags: expected trees in the training data, got sentences without any; do the files "
                "of train_data_path have HEAD and DEPREL?"
            )
        mask = get_text_field_mask(words)
        is_traced = not self.training and any(option.trace for option in options or ())
        states, trace = self._states(words, pos_tags, mask, is_traced)
        scores = self._arc_scores(states, mask)
        output: dict[str, torch.Tensor] = {}
        if head_indices is not None and head_tags is not None:
            label_scores = self.labels(states, head_indices)
            arc_loss = self._arc_loss(scores, head_indices, mask)
            label_loss = margin_loss(label_scores, head_tags, mask)
            self.loss_weight = mask.sum()
            output["loss"] = (arc_loss + label_loss) / self.loss_weight.clamp(min=1)
            if self.training:
                heads, labels = scores.argmax(-1), label_scores.argmax(-1)
                self._attachment(heads, labels, head_indices, head_tags, mask)
                return output
        heads = self._decode(scores, mask)
        label_scores = with_root_label(self.labels(states, heads), heads, self.root_label)
        if head_indices is not None and head_tags is not None:
            self._attachment(heads, label_scores.argmax(-1), head_indices, head_tags, mask)
        probabilities = scores.softmax(-1).gather(-1, heads.unsqueeze(-1)).squeeze(-1)
        output.update(
            {"mask": mask, "heads": heads, "head_probabilities": probabilities},
            label_scores=label_scores,
        )
        if isinstance(trace, NeuralEasyFirstTrace):
            output["head_steps"] = self._head_steps(trace, heads, mask)
        return output

    def _head_steps(
        self, trace: NeuralEasyFirstTrace, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """For each word the first step, from 1, since which its head is the final one: (batch, words)."""
        rows = torch.arange(len(heads), device=heads.device)
        settled = torch.ones_like(heads)
        for step in range(int(trace.num_steps.max()) - 1):
            last = (trace.num_steps - 1).clamp(max=step)
            step_heads = self._decode(self._arc_scores(trace.outputs(rows, last), mask), mask)
            settled = settled.masked_fill(step_heads != heads, step + 2)
        return settled

    def _states(
        self,
        words: TextFieldTensors,
        pos_tags: torch.Tensor,
        mask: torch.Tensor,
        is_traced: bool = False,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        """The states of the root and the words, (batch, words + 1, dim), and the trace if it is wanted."""
        if self.rare_words is not None:
            words = self.rare_words(words)
        vectors = self.text_field_embedder(words)
        if self.pos_tag_embedding is not None:
            vectors = torch.cat([vectors, self.pos_tag_embedding(pos_tags)], -1)
        vectors = zero_padding(vectors, mask)
        root = self.root.to(vectors).expand(len(vectors), 1, -1)
        vectors = torch.cat([root, vectors], 1)
        mask = torch.cat([mask.new_ones(len(mask), 1), mask], 1)
        states, trace = run_encoder(self.encoder, self.dropout(vectors), mask, is_traced)
        return self.dropout(zero_padding(states, mask)), trace

    def _arc_scores(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(batch, words, words + 1); minus infinity for padding and for a word as its own head."""
        scores = self.arcs(states)
        cannot_be = torch.cat([mask.new_zeros(len(mask), 1), ~mask], 1).unsqueeze(1)
        own = torch.eye(mask.size(1), dtype=torch.bool, device=mask.device)
        own = torch.cat([own.new_zeros(len(own), 1), own], 1)
        return scores.masked_fill(cannot_be | own, float("-inf"))

    def _decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        lengths = mask.sum(-1).tolist()
        finite = scores.detach().clamp(min=torch.finfo(torch.float32).min / 1e9)
        heads = DECODERS[self.decoder](finite.cpu().numpy(), lengths)
        return torch.from_numpy(heads).to(mask.device)

    def _arc_loss(
        self, scores: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The structured hinge loss, summed over the sentences."""
        index = gold.unsqueeze(-1)
        is_wrong = torch.ones_like(scores).scatter_(-1, index, 0)
        heads = self._decode(scores.detach() + is_wrong, mask)
        margins = scores.gather(-1, heads.unsqueeze(-1)) - scores.gather(-1, index)
        margins = (margins.squeeze(-1) + (heads != gold)).masked_fill(~mask, 0)
        # A gold tree that the decoder cannot give may have a higher score than its best.
        return margins.sum(-1).clamp(min=0).sum()

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Lists for each sentence: `predicted_heads` and `predicted_dependencies`, as allennlp-models'
        `biaffine_parser` names them, `head_probabilities`, `label_probabilities`, and `head_steps` if there are."""
        names = self.vocab.get_index_to_token_vocabulary(LABELS)
        chances, labels = output_dict["label_scores"].softmax(-1).max(-1)
        lengths = output_dict["mask"].sum(-1).tolist()
        columns: dict[str, tuple[torch.Tensor, Any]] = {
            "predicted_heads": (output_dict["heads"], int),
            "predicted_dependencies": (labels, names.__getitem__),
            "head_probabilities": (output_dict["head_probabilities"], float),
            "label_probabilities": (chances, float),
        }
        if "head_steps" in output_dict:
            columns["head_steps"] = (output_dict["head_steps"], int)
        readable = {"loss": output_dict["loss"]} if "loss" in output_dict else {}
        for name, (values, read) in columns.items():
            rows = zip(values.tolist(), lengths)
            readable[name] = [[read(value) for value in row[:length]] for row, length in rows]
        return readable

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return self._attachment.get_metric(reset)
