"""Models of sentence pairs: Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long
Short-Term Memory Networks" (ACL 2015), Section 4.2."""

from typing import Any, ClassVar

import torch
from allennlp.common import Lazy, Registrable
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.training.metrics import CategoricalAccuracy
from torch.nn import functional

from allennlp_nef.data.fields import NO_LABEL, labels_of
from allennlp_nef.metrics import SentenceScores
from allennlp_nef.modules.tree_encoders import TreeEncoder
from allennlp_nef.pretrained.word_pieces import PretrainedTransformer, word_pieces_of


class PairHead(torch.nn.Module, Registrable):
    """The output layer of `sentence_pair`: predicts from features (batch, input_dim), with its loss and metrics."""

    default_implementation = "classes"
    gold: ClassVar[str]
    """The name of the field with the gold values."""

    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        """Features (batch, input_dim) and gold values (batch,) -> `probs` and, with gold values, `loss`."""
        raise NotImplementedError

    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        """Returns the predictions of a batch: `label` or `score`, and `probabilities` by name."""
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        raise NotImplementedError


@PairHead.register("classes")
class ClassHead(PairHead):
    """A softmax over classes, such as entailment, with the cross-entropy loss and the `accuracy` metric.

    # Parameters

    vocab, input_dim
        The model supplies them; omit them in a config.
    label_namespace : `str`, optional (default = `"labels"`)
    """

    gold: ClassVar[str] = "label"

    def __init__(self, vocab: Vocabulary, input_dim: int, label_namespace: str = "labels") -> None:
        super().__init__()
        self.labels = labels_of(vocab, label_namespace)
        self.projection = torch.nn.Linear(input_dim, len(self.labels))
        self._accuracy = CategoricalAccuracy()

    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, labels)
        outputs = {"probs": logits.softmax(-1)}
        if gold is not None:
            gold = gold.masked_fill(gold >= len(self.labels), NO_LABEL)
            total = functional.cross_entropy(logits, gold, reduction="sum")
            outputs["loss"] = total / (gold != NO_LABEL).sum().clamp(min=1)
            self._accuracy(logits, gold)
        return outputs

    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        return {
            "label": [self.labels[index] for index in outputs["probs"].argmax(-1).tolist()],
            "probabilities": [dict(zip(self.labels, row)) for row in outputs["probs"].tolist()],
        }

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return {"accuracy": self._accuracy.get_metric(reset)}


@PairHead.register("scores")
class ScoreHead(PairHead):
    """A distribution over the scores 1 to 5; its mean is the predicted score.

    The loss is the Kullback-Leibler divergence between the distribution of the gold score y and the predicted one. The
    former has the probability max(0, 1 - |y - i|) at each score i, so its mean is y. At the end of an epoch, the
    metrics are `pearson`, `spearman`, `mae` and `mse`, the mean squared error.

    The model supplies the constructor arguments; omit them in a config.
    """

    gold: ClassVar[str] = "score"
    scores: torch.Tensor

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self.register_buffer("scores", torch.arange(1.0, 6.0), persistent=False)
        self.projection = torch.nn.Linear(input_dim, len(self.scores))
        self._metric = SentenceScores()

    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, scores)
        probabilities = logits.softmax(-1)
        outputs = {"probs": probabilities, "score": probabilities @ self.scores.float()}
        if gold is not None:
            outputs["loss"] = functional.kl_div(
                logits.log_softmax(-1), self.distribution(gold), reduction="batchmean"
            )
            self._metric(outputs["score"], gold)
        return outputs

    def distribution(self, gold: torch.Tensor) -> torch.Tensor:
        """Returns the distributions of gold scores: (batch,) -> (batch, scores)."""
        return (1 - (gold.float().unsqueeze(-1) - self.scores).abs()).clamp(min=0)

    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        names = [f"{score:.0f}" for score in self.scores.tolist()]
        return {
            "score": outputs["score"].tolist(),
            "probabilities": [dict(zip(names, row)) for row in outputs["probs"].tolist()],
        }

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        scores = self._metric.get_metric(reset)
        if "rmse" in scores:
            scores["mse"] = scores.pop("rmse") ** 2
        return scores


class PairTransformer(PretrainedTransformer):
    """A pretrained transformer that reads both sentences together. For the parameters see `PretrainedTransformer`."""

    num_sides = 2


@Model.register("sentence_pair")
class SentencePair(Model):
    """Compares two sentences: a class such as entailment, or a score such as their relatedness.

    An encoder computes the vectors u and v of the two sentences. The features of the pair are sigmoid(W [u * v; |u -
    v|] + b), so the order of the sentences makes no difference.

    With a `pair_transformer`, a pretrained transformer reads both sentences together, as in Section 4.1 of Devlin et
    al. (NAACL 2019). The features are then sigmoid(W v + b), with the vector v of the second sentence.

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`, optional (default = `None`)
        Embeds the words of a sentence. Give either this or `pair_transformer`.
    seq2vec_encoder : `Seq2VecEncoder`, optional (default = `None`)
        Computes the vector of a sentence from the states of its words. Give either this or `tree_encoder`.
    tree_encoder : `TreeEncoder`, optional (default = `None`)
        Computes the vector along the dependency tree: the state of the root. The reader needs its option `parses`.
    output : `PairHead`, optional (default = `"classes"`)
    seq2seq_encoder : `Seq2SeqEncoder`, optional (default = `None`)
        Computes the states from the embeddings.
    hidden_dim : `int`, optional (default = `50`)
        The dimension of the features.
    dropout : `float`, optional (default = `0.0`)
        Applied to the vectors of the sentences.
    pair_transformer : `PairTransformer`, optional (default = `None`)
        Reads both sentences, which need the `word_pieces` indexer.
    initializer : `InitializerApplicator`, optional (default = `InitializerApplicator()`)
    """

    default_predictor = "sentence_pair"

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder | None = None,
        seq2vec_encoder: Seq2VecEncoder | None = None,
        output: Lazy[PairHead] = Lazy(PairHead),
        seq2seq_encoder: Seq2SeqEncoder | None = None,
        hidden_dim: int = 50,
        dropout: float = 0.0,
        initializer: InitializerApplicator = InitializerApplicator(),
        tree_encoder: TreeEncoder | None = None,
        pair_transformer: PairTransformer | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        if (text_field_embedder is None) == (pair_transformer is None):
            raise ConfigurationError(
                "sentence_pair needs either text_field_embedder or pair_transformer"
            )
        encoder = seq2vec_encoder or tree_encoder
        if encoder is None or (seq2vec_encoder and tree_encoder):
            raise ConfigurationError("sentence_pair needs either seq2vec_encoder or tree_encoder")
        self.text_field_embedder: Any = text_field_embedder
        self.pair_transformer = pair_transformer
        if pair_transformer is not None:
            dim, num_vectors = pair_transformer.word_dim, 1
        else:
            dim, num_vectors = text_field_embedder.get_output_dim(), 2  # type: ignore[union-attr]
        if seq2seq_encoder is not None:
            check_dimensions_match(
                dim, seq2seq_encoder.get_input_dim(), "embedding dim", "seq2seq_encoder input dim"
            )
            dim = seq2seq_encoder.get_output_dim()
        check_dimensions_match(dim, encoder.get_input_dim(), "states dim", "encoder input dim")
        self.seq2seq_encoder = seq2seq_encoder
        self.seq2vec_encoder: Any = seq2vec_encoder
        self.tree_encoder = tree_encoder
        self.dropout = torch.nn.Dropout(dropout)
        self.features = torch.nn.Linear(num_vectors * encoder.get_output_dim(), hidden_dim)
        self.output = output.construct(vocab=vocab, input_dim=hidden_dim)
        initializer(self)

    def forward(
        self,
        first: TextFieldTensors,
        second: TextFieldTensors,
        label: torch.Tensor | None = None,
        score: torch.Tensor | None = None,
        metadata: list[dict[str, Any]] | None = None,
        first_heads: torch.Tensor | None = None,
        second_heads: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        first, second : `TextFieldTensors`
        label, score : `torch.Tensor`, (batch,), optional (default = `None`, not known)
            The gold values; the `output` uses one of the two.
        metadata : `list[dict[str, Any]]`, optional (default = `None`)
            Not used.
        first_heads, second_heads : `torch.LongTensor`, (batch, words), optional (default = `None`)
            The heads of the words, from 1, with 0 for the root. Only a `tree_encoder` uses them.

        # Returns

        `dict[str, torch.Tensor]`
            The result of `output`.
        """
        if self.pair_transformer is None:
            u, v = self.encode(first, first_heads), self.encode(second, second_heads)
            pair = torch.cat([u * v, (u - v).abs()], -1)
        else:
            sides = [word_pieces_of(first), word_pieces_of(second)]
            states = self.pair_transformer.embed_words(*sides)[1]
            pair = self._vectors(states, sides[1]["counts"] > 0, second_heads)
        gold = {"label": label, "score": score}[self.output.gold]
        return self.output(torch.sigmoid(self.features(pair)), gold)

    def encode(self, text: TextFieldTensors, heads: torch.Tensor | None = None) -> torch.Tensor:
        """Returns the vector of each sentence, (batch, dim)."""
        return self._vectors(self.text_field_embedder(text), get_text_field_mask(text), heads)

    def _vectors(
        self, states: torch.Tensor, mask: torch.Tensor, heads: torch.Tensor | None
    ) -> torch.Tensor:
        """From (batch, words, dim) to (batch, dim)."""
        if self.seq2seq_encoder is not None:
            states = self.seq2seq_encoder(states, mask)
        if self.tree_encoder is None:
            return self.dropout(self.seq2vec_encoder(states, mask))
        if heads is None:
            raise ConfigurationError("tree_encoder needs the option parses of the dataset reader")
        return self.dropout(self.tree_encoder.root_states(states, heads, mask))

    def make_output_human_readable(self, output_dict: dict[str, torch.Tensor]) -> dict[str, Any]:
        return {**output_dict, **self.output.readable(output_dict)}

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return self.output.get_metrics(reset)
