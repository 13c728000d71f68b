"""Models of one sentence or of two, and what they predict: a class or a score."""

from typing import Any, ClassVar

import torch
from allennlp.common import Lazy, Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.formats.sentence_pairs import MAX_SCORE, MIN_SCORE
from allennlp_nef.metrics import SentenceScoresMetric, TagAccuracy
from allennlp_nef.models.base import VersionedModel, check_input_dim
from allennlp_nef.modules.input_representations import (
    InputRepresentation,
    TransformerPairRepresentation,
)
from allennlp_nef.modules.options import check_dropout, check_integers, registered_name
from allennlp_nef.modules.tree_encoders import TreeEncoder


class PairOutput(torch.nn.Module, Registrable):
    """The output layer of `sentence_pair`: what is predicted of a pair, its loss and its metrics."""

    default_implementation = "classes"
    gold: ClassVar[str]
    """The field of an instance that has the gold value."""
    metric: Any  # a `CountingMetric`

    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        features : `torch.Tensor`, (batch, input_dim)
        gold : `torch.Tensor`, (batch,), optional (default = `None`, not known)
            The gold values, which the metrics count.

        # Returns

        `dict[str, torch.Tensor]`
            The predictions, and with gold values the `loss`, a mean over the pairs.
        """
        raise NotImplementedError

    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        """The predictions of a batch for people: `label` or `score`, and `probabilities` by their names."""
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """The scores since the last reset."""
        raise NotImplementedError


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
        self.metric = TagAccuracy()

    @overrides
    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, labels)
        outputs = {"probs": logits.softmax(-1)}
        if gold is not None:
            outputs["loss"] = functional.cross_entropy(logits, gold)
            self.metric(logits.argmax(-1), gold)
        return outputs

    @overrides
    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        return {
            "label": [self.labels[index] for index in outputs["probs"].argmax(-1).tolist()],
            "probabilities": [dict(zip(self.labels, row)) for row in outputs["probs"].tolist()],
        }

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return self.metric.get_metric(reset)


@PairOutput.register("scores")
class ScoreOutput(PairOutput):
    """
    A distribution over the scores 1 to 5, whose mean is the predicted score: Tai, Socher and Manning (ACL 2015),
    Section 4.2.

    The loss is the Kullback-Leibler divergence from the distribution of the gold score y to the predicted one. That of
    y has the probability max(0, 1 - |y - i|) at each score i: its mean is y. The metrics are `pearson`,
    `spearman` and `mse`, the mean squared error. They take all scores, so they are computed at a reset only: a trainer
    asks after each batch, too.

    Registered as a `PairOutput` with name "scores".

    # Parameters

    input_dim : `int`
        The dimension of the features; the model fills it in.
    """

    gold: ClassVar[str] = "score"
    scores: torch.Tensor

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        scores = torch.arange(MIN_SCORE, MAX_SCORE + 1, dtype=torch.float)
        self.register_buffer("scores", scores, persistent=False)
        self.projection = torch.nn.Linear(input_dim, len(scores))
        self.metric = SentenceScoresMetric()

    @overrides
    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, scores)
        probabilities = logits.softmax(-1)
        outputs = {"probs": probabilities, "score": probabilities @ self.scores}
        if gold is not None:
            outputs["loss"] = functional.kl_div(
                logits.log_softmax(-1), self.distribution(gold), reduction="batchmean"
            )
            self.metric(outputs["score"], gold)
        return outputs

    def distribution(self, gold: torch.Tensor) -> torch.Tensor:
        """The distribution of each gold score: (batch,) -> (batch, scores)."""
        return (1 - (gold.unsqueeze(-1) - self.scores).abs()).clamp(min=0)

    @overrides
    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        names = [str(score) for score in range(MIN_SCORE, MAX_SCORE + 1)]
        return {
            "score": outputs["score"].tolist(),
            "probabilities": [dict(zip(names, row)) for row in outputs["probs"].tolist()],
        }

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        if not reset:
            return {}
        scores = self.metric.get_metric(reset)
        if not scores:
            return {}
        return {
            "pearson": scores["pearson"],
            "spearman": scores["spearman"],
            "mse": scores["rmse"] ** 2,
        }


@Model.register("sentence_pair")
class SentencePair(VersionedModel):
    """
    Compares two sentences: Tai, Socher and Manning (ACL 2015), Section 4.2.

    One encoder gives a vector of each sentence, u and v. What is predicted of the pair depends on their product and
    their distance in each dimension: the features sigmoid(W [u * v; |u - v|] + b). So the order of the sentences makes
    no difference.

    With an `input_representation` a pretrained transformer reads both sentences together: Section 4.1 of Devlin et al.
    (NAACL 2019). The features are sigmoid(W v + b), where v is the vector of the second sentence, read with the first.

    Registered as a `Model` with name "sentence_pair".

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`, optional (default = `None`)
        Embeds the words of each sentence. Either this or `input_representation` is needed.
    input_representation : `InputRepresentation`, optional (default = `None`)
        `transformer_pair`, which reads both sentences together; without `aligned_source`.
    seq2vec_encoder : `Seq2VecEncoder`, optional (default = `None`)
        Makes a vector of the states of a sentence's words, or of their embeddings. Either this or `tree_encoder` is
        needed.
    tree_encoder : `TreeEncoder`, optional (default = `None`)
        Makes this vector along the dependency tree: it is the state of the root. The reader needs its option `parses`.
    output : `PairOutput`, optional (default = `"classes"`)
    seq2seq_encoder : `Seq2SeqEncoder`, optional (default = `None`)
        Makes states of the embeddings.
    hidden_dim : `int`, optional (default = `50`)
        At least 1. The dimension of the features.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1). Of the vectors of the sentences.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    """

    default_predictor = "sentence_pair"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder | None = None,
        seq2vec_encoder: Seq2VecEncoder | None = None,
        output: Lazy[PairOutput] = Lazy(PairOutput),
        seq2seq_encoder: Seq2SeqEncoder | None = None,
        hidden_dim: int = 50,
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        tree_encoder: TreeEncoder | None = None,
        input_representation: InputRepresentation | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_integers(hidden_dim=hidden_dim)
        check_dropout(dropout)
        if (text_field_embedder is None) == (input_representation is None):
            raise ConfigurationError(
                "sentence_pair: expected either text_field_embedder or input_representation, got "
                + ("both" if text_field_embedder else "none")
            )
        words: Any = text_field_embedder or input_representation
        last = "text_field_embedder" if text_field_embedder else "input_representation"
        if input_representation and not isinstance(words, TransformerPairRepresentation):
            raise ConfigurationError(
                "input_representation: expected transformer_pair, which reads both sentences, got "
                + registered_name(InputRepresentation, words)
            )
        dim = words.get_output_dim()
        if seq2seq_encoder is not None:
            check_input_dim("seq2seq_encoder", seq2seq_encoder, dim, last)
            dim = seq2seq_encoder.get_output_dim()
            last = "seq2seq_encoder"
        vector_encoder = seq2vec_encoder if tree_encoder is None else tree_encoder
        if vector_encoder is None or (seq2vec_encoder and tree_encoder):
            raise ConfigurationError(
                "sentence_pair: expected either seq2vec_encoder or tree_encoder, got "
                + ("both" if vector_encoder else "none")
            )
        name = "seq2vec_encoder" if tree_encoder is None else "tree_encoder"
        check_input_dim(name, vector_encoder, dim, last)
        self.text_field_embedder: Any = text_field_embedder  # None with an input_representation
        self.input_representation = input_representation
        self.seq2seq_encoder = seq2seq_encoder
        self.seq2vec_encoder = seq2vec_encoder
        self.tree_encoder = tree_encoder
        self.dropout = torch.nn.Dropout(dropout)
        vectors = 2 if text_field_embedder else 1
        self.features = torch.nn.Linear(vectors * vector_encoder.get_output_dim(), hidden_dim)
        self.output = output.construct(vocab=vocab, input_dim=hidden_dim)
        self.metrics = [self.output.metric]
        initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        first: TextFieldTensors,
        second: TextFieldTensors,
        label: torch.Tensor | None = None,
        score: torch.Tensor | None = None,
        metadata: list[Any] | None = None,
        first_heads: torch.Tensor | None = None,
        second_heads: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        first, second : `TextFieldTensors`
        label, score : `torch.Tensor`, (batch,), optional (default = `None`, not known)
            What the output predicts of the two gives the loss.
        metadata : `list[Any]`, optional (default = `None`)
            Not used.
        first_heads, second_heads : `torch.LongTensor`, (batch, words), optional (default = `None`)
            The heads of the words, from 1, with 0 for the root. Needed with a `tree_encoder`, else not used.

        # Returns

        `dict[str, torch.Tensor]`
            What the output returns.

        # Raises

        `ConfigurationError`: training data without what the output predicts.
        """
        gold = {"label": label, "score": score}[self.output.gold]
        if self.training and gold is None:
            raise ConfigurationError(
                f"{self.output.gold}: expected it in the training data, got pairs without it; do the files of "
                f"train_data_path have it, and dataset_reader the option gold: {self.output.gold}?"
            )
        if self.input_representation is None:
            u, v = self.encode(first, first_heads), self.encode(second, second_heads)
            pair = torch.cat([u * v, (u - v).abs()], -1)
        else:
            words, mask = self.input_representation(source=first, target=second)
            pair = self._vectors(words, mask, second_heads)
        if gold is not None:
            self.loss_weight = gold.new_tensor(len(gold))
        return self.output(torch.sigmoid(self.features(pair)), gold)

    def encode(self, text: TextFieldTensors, heads: torch.Tensor | None = None) -> torch.Tensor:
        """The vector of each sentence, (batch, dim). Raises a `ConfigurationError` where heads are needed."""
        return self._vectors(self.text_field_embedder(text), get_text_field_mask(text), heads)

    def _vectors(
        self, states: torch.Tensor, mask: torch.Tensor, heads: torch.Tensor | None
    ) -> torch.Tensor:
        """From (batch, tokens, dim) to (batch, dim)."""
        if self.seq2seq_encoder is not None:
            states = self.seq2seq_encoder(states, mask)
        if self.seq2vec_encoder is not None:
            return self.dropout(self.seq2vec_encoder(states, mask))
        if heads is None or self.tree_encoder is None:
            raise ConfigurationError(
                "tree_encoder: expected the heads of the words (the option parses of the reader), got none"
            )
        return self.dropout(self.tree_encoder.root_states(states, heads, mask))

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: dict[str, torch.Tensor]) -> dict[str, Any]:
        return {**output_dict, **self.output.readable(output_dict)}

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return self.output.get_metrics(reset)
