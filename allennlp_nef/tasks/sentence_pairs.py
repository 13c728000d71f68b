"""Sentence pairs with a class or a score: SICK and SNLI parsers, reader, models and predictor."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from allennlp.common import Lazy, Registrable
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Field, Instance, TextFieldTensors, Vocabulary
from allennlp.data.fields import MetadataField, SequenceLabelField, TensorField
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.predictors import Predictor
from allennlp.training.metrics import CategoricalAccuracy
from torch import Tensor
from torch.nn import functional

from allennlp_nef.data.conllu import ConlluSentence, read_conllu
from allennlp_nef.data.dataset_readers.base import text_field
from allennlp_nef.data.fields import labels_of
from allennlp_nef.data.files import is_json_lines, parse_lines, read_objects
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.metrics.sentence_scores import SentenceScores
from allennlp_nef.predictors.base import Item
from allennlp_nef.predictors.requests import TEXT
from allennlp_nef.pretrained.word_pieces import PretrainedTransformer, word_pieces_of
from allennlp_nef.tasks.dependency_parsing import fault_of_heads, tree_of
from allennlp_nef.tasks.sentence_classes import (
    ClassField,
    TaskPredictor,
    TextReader,
    TreeEncoder,
    class_loss,
    known_labels,
)

MIN_SCORE, MAX_SCORE = 1, 5
GOLD = ("label", "score")
NO_CLASS = "-"
"""The class of SNLI pairs whose annotators did not agree."""
# The columns of SICK and the fields of SNLI that are read, and their names in this module.
_NAMES = {
    "sentence_A": "first",
    "sentence_B": "second",
    "entailment_judgment": "label",
    "entailment_label": "label",
    "relatedness_score": "score",
    "sentence1": "first",
    "sentence2": "second",
    "gold_label": "label",
}


@dataclass(slots=True, eq=False)
class Pair:
    """A pair of sentences."""

    first: Sentence
    second: Sentence

    def to_json(self) -> dict[str, Any]:
        """Returns both sentences, for `allennlp evaluate --predictions-output-file`."""
        return {"first": self.first.to_json(), "second": self.second.to_json()}


def read_rows(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the line number of each pair, and a dict with `first`, `second` and, if the file has them, `label` and
    `score`.

    A file whose name ends in `.jsonl` has the SNLI format, one JSON object per line. All others have the SICK format, a
    tab-separated table whose first line has the column names. Empty lines are skipped.

    # Raises

    `DataFormatError`: any error of `read_lines`, a first line without the names of the sentences, a pair without its
    sentences, or a number of columns that differs from the number of names.
    """
    read = read_objects if is_json_lines(path) else _read_table
    for number, values in read(path, encoding):
        row = {_NAMES[key]: values[key] for key in _NAMES if values.get(key) is not None}
        for name in {"label", "score"} & row.keys():
            if type(row[name]) in (int, float):
                row[name] = str(row[name])
        is_complete = {"first", "second"} <= row.keys()
        if not is_complete or not all(isinstance(v, str) and v.strip() for v in row.values()):
            raise DataFormatError(
                f"{path}:{number}: expected sentence_A and sentence_B (.jsonl: sentence1 and sentence2), and no empty "
                f"value, got {quote(row)}"
            )
        yield number, row


def _read_table(path: str, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    names: list[str] = []
    for number, cells in parse_lines(path, lambda line: line.split("\t"), encoding):
        if not names:
            names = cells
            if not {"sentence_A", "sentence_B"} <= {*names}:
                raise DataFormatError(
                    f"{path}:{number}: expected column names such as sentence_A and sentence_B, got {quote(names)}"
                )
        elif len(cells) == len(names):
            yield number, dict(zip(names, cells))
        else:
            raise DataFormatError(
                f"{path}:{number}: expected {len(names)} columns separated by tabs, got {len(cells)}"
            )


@DatasetReader.register("sentence_pairs")
class SentencePairsReader(TextReader):
    """Reads pairs of sentences with a class or a score: the tables of SICK, and the JSON lines of SNLI (files whose
    names end in `.jsonl`).

    An instance has the fields `first` and `second` (`TextField`), if it is known `label` (`ClassField`) or `score`
    (`TensorField`, from 1 to 5), and `metadata`, a `Pair`. SNLI pairs whose annotators did not agree are skipped, and a
    warning gives their number.

    # Parameters

    gold : `str`, optional (default = `"label"`)
        What the model predicts: "label" or "score".
    parses : `str`, optional (default = `None`, no trees)
        A folder with dependency trees: for `x/train.txt`, the file `train.conllu`, with the trees of the first and
        second sentence of each pair in turn. An instance then has the `first_heads` and `second_heads` fields.
    names : `Sequence[str]`, optional (default = `("first", "second")`)
        The names of the fields of the sentences. `esim` from allennlp-models expects "premise" and "hypothesis".
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `TextReader` and `NefDatasetReader`. `max_tokens` limits the longer sentence of a pair.
    """

    def __init__(
        self,
        gold: str = "label",
        parses: str | None = None,
        names: Sequence[str] = ("first", "second"),
        **kwargs: Any,
    ) -> None:
        if gold not in GOLD:
            raise ConfigurationError(f"gold must be label or score, not {gold!r}")
        if len(names) != 2 or len({*names, *GOLD, "metadata"}) != 5:
            raise ConfigurationError(
                f"names must be two different names other than label, score and metadata, not {names!r}"
            )
        self.text_fields = tuple(names)
        super().__init__(**kwargs)
        self.gold = gold
        self.parses = parses

    def examples(self, file_path: str) -> Iterator[dict[str, Any]]:
        num_undecided = 0
        trees: Iterator[ConlluSentence] = iter(())
        if self.parses is not None:
            name = f"{Path(file_path.removesuffix('.gz')).stem}.conllu"
            trees = read_conllu(str(Path(self.parses, name)), self.encoding)
        for number, row in read_rows(file_path, self.encoding):
            place = f"{file_path}:{number}"
            sides = [self.split_line(row[name]) for name in ("first", "second")]
            heads = None
            if self.parses is not None:
                heads = [_next_heads(trees, words, place) for words in sides]
            gold: Any = row.get(self.gold)
            if self.gold == "score" and gold is not None:
                gold = _score(gold, place)
            if self.gold == "label" and gold == NO_CLASS:
                num_undecided += 1
            else:
                yield {"first": sides[0], "second": sides[1], self.gold: gold, "heads": heads}
        for rest in trees:
            raise DataFormatError(
                f"{rest.path}:{rest.lines[0]}: expected two trees for each pair of {file_path}, got another tree"
            )
        if num_undecided:
            self.warn(f"{file_path}: left out {num_undecided} pairs without an agreed class.")

    def num_tokens(self, example: Any) -> int:
        return max(len(example["first"]), len(example["second"]))

    def text_to_instance(
        self,
        first: str | list[str],
        second: str | list[str],
        label: str | None = None,
        score: float | None = None,
        heads: Sequence[list[int]] | None = None,
    ) -> Instance:
        """Returns the instance of two sentences, each a string or a list of words, with their label, their score from 1
        to 5 and the heads of both trees if they are known. A head is the number of a word, from 1, or 0 for the root.
        """
        sides = [self.split(first), self.split(second)]
        texts = list(map(text_field, sides))
        fields: dict[str, Field] = dict(zip(self.text_fields, texts))
        if label is not None:
            fields["label"] = ClassField(label, self.label_namespace)
        if score is not None:
            fields["score"] = TensorField(torch.tensor(score, dtype=torch.float))
        for name, tokens, numbers in zip(self.text_fields, texts, heads or ()):
            fields[f"{name}_heads"] = SequenceLabelField(numbers, tokens, "head_index_tags")
        fields["metadata"] = MetadataField(Pair(*map(Sentence, sides)))
        return Instance(fields)


def _score(text: str, place: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not MIN_SCORE <= score <= MAX_SCORE:
        raise DataFormatError(
            f"{place}: expected a score from {MIN_SCORE} to {MAX_SCORE}, got {quote(text)}"
        )
    return score


def _next_heads(trees: Iterator[ConlluSentence], words: list[str], place: str) -> list[int]:
    """Returns the heads of the next tree of a file, which must have the words of a sentence of the pair at `place`."""
    sentence = next(trees, None)
    if sentence is None:
        raise DataFormatError(f"{place}: expected a tree for each sentence, got too few (parses)")
    forms = sentence.column("form")
    if forms != words:
        raise DataFormatError(
            f"{sentence.path}:{sentence.lines[0]}: expected the words of {place}, {quote(' '.join(words))}, "
            f"got {quote(' '.join(forms))}"
        )
    return tree_of(sentence)[0]


class PairHead(torch.nn.Module, Registrable):
    """The output layer of `sentence_pair`: a distribution over classes or scores, with its loss and metrics.

    # Parameters

    input_dim : `int`
    names : `list[str]`
        The names of the classes or scores.
    """

    default_implementation = "classes"
    gold: ClassVar[str]
    """The name of the field with the gold values, and of the predicted value in an answer."""

    def __init__(self, input_dim: int, names: list[str]) -> None:
        super().__init__()
        self.names = names
        self.projection = torch.nn.Linear(input_dim, len(names))

    def forward(self, features: Tensor, gold: Tensor | None = None) -> dict[str, Tensor]:
        """Features (batch, input_dim) and gold values (batch,) -> `probs` and, with gold values, `loss`."""
        logits = self.projection(features).float()  # (batch, names)
        outputs = {"probs": logits.softmax(-1)}
        if gold is not None:
            outputs["loss"] = self.loss(logits, gold)
        return outputs

    def loss(self, logits: Tensor, gold: Tensor) -> Tensor:
        """Returns the mean loss of logits (batch, names) and gold values (batch,), and updates the metrics."""
        raise NotImplementedError

    def predicted(self, probabilities: Tensor) -> list[Any]:
        """Returns the class or score of each pair, from probabilities (batch, names)."""
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

    gold = "label"

    def __init__(self, vocab: Vocabulary, input_dim: int, label_namespace: str = "labels") -> None:
        super().__init__(input_dim, labels_of(vocab, label_namespace))
        self._accuracy = CategoricalAccuracy()

    def loss(self, logits: Tensor, gold: Tensor) -> Tensor:
        gold = known_labels(gold, len(self.names))
        self._accuracy(logits, gold)
        return class_loss(logits, gold)

    def predicted(self, probabilities: Tensor) -> list[Any]:
        return [self.names[index] for index in probabilities.argmax(-1).tolist()]

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

    gold = "score"
    scores: Tensor

    def __init__(self, input_dim: int) -> None:
        scores = range(MIN_SCORE, MAX_SCORE + 1)
        super().__init__(input_dim, [str(score) for score in scores])
        self.register_buffer("scores", torch.tensor(scores, dtype=torch.float), persistent=False)
        self._metric = SentenceScores()

    def loss(self, logits: Tensor, gold: Tensor) -> Tensor:
        self._metric(self.mean(logits.softmax(-1)), gold)
        expected = self.distribution(gold)
        return functional.kl_div(logits.log_softmax(-1), expected, reduction="batchmean")

    def mean(self, probabilities: Tensor) -> Tensor:
        """Returns the means of distributions: (batch, scores) -> (batch,)."""
        return probabilities @ self.scores.float()

    def distribution(self, gold: Tensor) -> Tensor:
        """Returns the distributions of gold scores: (batch,) -> (batch, scores)."""
        return (1 - (gold.float().unsqueeze(-1) - self.scores).abs()).clamp(min=0)

    def predicted(self, probabilities: Tensor) -> list[Any]:
        return self.mean(probabilities).tolist()

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        scores = self._metric.get_metric(reset)
        if "rmse" in scores:
            scores["mse"] = scores.pop("rmse") ** 2
        return scores


class PairTransformer(PretrainedTransformer):
    """A pretrained transformer that reads both sentences together. For the parameters see `PretrainedTransformer`."""

    num_sides = 2

    def get_output_dim(self) -> int:
        return self.word_dim


def one_of(**options: Any) -> Any:
    """Returns the only option that is given. Raises a `ConfigurationError` if there is none, or more than one."""
    given = [name for name, option in options.items() if option is not None]
    if len(given) != 1:
        expected = " or ".join(options)
        raise ConfigurationError(f"expected either {expected}, got {' and '.join(given) or 'none'}")
    return options[given[0]]


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
        encoder = one_of(seq2vec_encoder=seq2vec_encoder, tree_encoder=tree_encoder)
        embedder = one_of(
            text_field_embedder=text_field_embedder, pair_transformer=pair_transformer
        )
        dim = embedder.get_output_dim()
        if seq2seq_encoder is not None:
            check_dimensions_match(
                dim, seq2seq_encoder.get_input_dim(), "embedding dim", "seq2seq_encoder input dim"
            )
            dim = seq2seq_encoder.get_output_dim()
        check_dimensions_match(dim, encoder.get_input_dim(), "states dim", "encoder input dim")
        num_vectors = 2 if pair_transformer is None else 1
        self.text_field_embedder: Any = text_field_embedder
        self.pair_transformer = pair_transformer
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
        label: Tensor | None = None,
        score: Tensor | None = None,
        metadata: list[Pair] | None = None,
        first_heads: Tensor | None = None,
        second_heads: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """
        # Parameters

        first, second : `TextFieldTensors`
        label, score : `torch.Tensor`, (batch,), optional (default = `None`, not known)
            The gold values; the `output` uses one of the two.
        metadata : `list[Pair]`, optional (default = `None`)
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

    def encode(self, text: TextFieldTensors, heads: Tensor | None = None) -> Tensor:
        """Returns the vector of each sentence, (batch, dim)."""
        return self._vectors(self.text_field_embedder(text), get_text_field_mask(text), heads)

    def _vectors(self, states: Tensor, mask: Tensor, heads: Tensor | None) -> Tensor:
        """From (batch, words, dim) to (batch, dim)."""
        if self.seq2seq_encoder is not None:
            states = self.seq2seq_encoder(states, mask)
        if self.tree_encoder is None:
            return self.dropout(self.seq2vec_encoder(states, mask))
        if heads is None:
            raise ConfigurationError("tree_encoder needs the option parses of the dataset reader")
        return self.dropout(self.tree_encoder.root_states(states, heads, mask))

    def make_output_human_readable(self, output_dict: dict[str, Tensor]) -> dict[str, Any]:
        """Adds for each pair its `label` or `score`, and `probabilities`, by name."""
        probabilities, head = output_dict["probs"], self.output
        named = [dict(zip(head.names, row)) for row in probabilities.tolist()]
        return {**output_dict, head.gold: head.predicted(probabilities), "probabilities": named}

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        return self.output.get_metrics(reset)


@Predictor.register("sentence_pair")
class SentencePairPredictor(TaskPredictor):
    """Compares two sentences with the `sentence_pair` model, or with `esim` from allennlp-models.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are raw text or lists of words. A model with a `tree_encoder`
    also needs `first_heads` and `second_heads`, the number of each word's head, from 1, or 0 for the root.

    The answer has the words, under the `names` of the reader; `label` or `score` (from 1 to 5); and `probabilities`, an
    object with the probability of each label or score.

    For the parameters see `NefPredictor`.
    """

    task = "pair"
    _dataset_reader: SentencePairsReader

    def __init__(self, model: Model, dataset_reader: SentencePairsReader, **options: Any) -> None:
        has_trees = getattr(model, "tree_encoder", None) is not None
        self.required = ("first", "second", *(("first_heads", "second_heads") if has_trees else ()))
        heads = (lambda value: isinstance(value, list), "a list of numbers")
        self.fields = {name: heads if name.endswith("_heads") else TEXT for name in self.required}
        super().__init__(model, dataset_reader, **options)

    def predict(
        self, first: str | list[str], second: str | list[str], **heads: list[int]
    ) -> JsonDict:
        """Returns the answer to a pair, with `first_heads` and `second_heads` if the model needs them."""
        return self.predict_json({"first": first, "second": second, **heads})

    def to_item(self, request: dict[str, Any]) -> Item:
        sides = [self.words_of(request, name) for name in ("first", "second")]
        heads = [request[name] for name in self.required[2:]]
        for name, words, numbers in zip(self.required[2:], sides, heads):
            in_range = [type(n) is int and 0 <= n <= len(words) for n in numbers]
            if len(numbers) != len(words) or not all(in_range):
                raise UserError(f"{name}: expected {len(words)} numbers from 0 to {len(words)}")
            fault = fault_of_heads(numbers)
            if fault:
                raise UserError(f"{name}: {fault[1]}")
        first, second = sides
        given = (heads[0], heads[1]) if heads else None
        return Item(self._dataset_reader.text_to_instance(first, second, heads=given))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        record = item.record
        sides = zip(self._dataset_reader.text_fields, (record.first.words, record.second.words))
        if "label_probs" in output:  # esim
            labels = labels_of(self._model.vocab, self._dataset_reader.label_namespace)
            named = dict(zip(labels, output["label_probs"].tolist()))
            output = {"label": max(named, key=named.__getitem__), "probabilities": named}
        return {**dict(sides), **{n: output[n] for n in (*GOLD, "probabilities") if n in output}}
