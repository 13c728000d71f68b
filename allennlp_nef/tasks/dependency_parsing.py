"""Dependency parsing: trees of CoNLL-U, Eisner's algorithm, a graph-based parser, and the predictor."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy
import torch
from allennlp.common.checks import check_dimensions_match
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Field, Instance, TextFieldTensors, Vocabulary
from allennlp.data.fields import MetadataField, SequenceLabelField
from allennlp.models import Model
from allennlp.modules import Embedding, Seq2SeqEncoder, TextFieldEmbedder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.predictors import Predictor
from allennlp.training.metrics import AttachmentScores
from torch import Tensor

from allennlp_nef.data.conllu import UNKNOWN, ConlluSentence, read_conllu
from allennlp_nef.data.dataset_readers.base import Prediction, Writer, text_field
from allennlp_nef.data.dataset_readers.conllu import check_column, fill_in
from allennlp_nef.data.fields import UNSEEN, TagsField, labels_of
from allennlp_nef.data.files import peek
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.predictors.base import Item
from allennlp_nef.predictors.requests import TEXT, Check, check_words
from allennlp_nef.tasks.sentence_classes import TaskPredictor, TextReader


@dataclass(slots=True, eq=False)
class ParsedSentence(Sentence):
    """A sentence with its dependency tree. AllenNLP's parsers read `words` and `pos`."""

    pos: list[str] = field(default_factory=list)
    """The tags of the words; `_` for a word without one."""
    heads: list[int] | None = None
    """The head of each word, from 1, or 0 for the root; None if the tree is not known."""
    labels: list[str] | None = None
    """The labels of the arcs between the words and their heads."""


def tree_of(sentence: ConlluSentence) -> tuple[list[int], list[str]]:
    """Returns the heads and labels in HEAD and DEPREL. Raises a `DataFormatError` with path and line if these are no
    tree.
    """
    labels = sentence.column("deprel")
    heads: list[int] = []
    for head, label, line in zip(sentence.column("head"), labels, sentence.lines):
        if not re.fullmatch("[0-9]{1,9}", head) or int(head) > len(labels) or label == UNKNOWN:
            raise DataFormatError(
                f"{sentence.path}:{line}: expected a HEAD from 0 to {len(labels)} and a DEPREL, "
                f"got {quote(head)} and {quote(label)}"
            )
        heads.append(int(head))
    fault = fault_of_heads(heads)
    if fault is not None:
        word, message = fault
        raise DataFormatError(f"{sentence.path}:{sentence.lines[word - 1]}: {message}")
    return heads, labels


def fault_of_heads(heads: Sequence[int]) -> tuple[int, str] | None:
    """Returns what keeps heads from forming a tree with one root: a word, counted from 1, and a message; None if
    nothing. A head is the number of another word, or 0 for the root.
    """
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    if len(roots) != 1:
        return max(roots, default=1), f"expected one word with HEAD 0, got {len(roots)}"
    reaches_root = {0}
    for word in range(1, len(heads) + 1):
        path: set[int] = set()
        while word not in reaches_root:
            if word in path:
                return word, f"expected a tree, got a cycle through word {word}"
            path.add(word)
            word = heads[word - 1]
        reaches_root |= path
    return None


def write_conllu_tree(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """Writes CoNLL-U: the sentence of the input file with the predicted HEAD and DEPREL."""
    answer = prediction.answer
    columns = {"head": list(map(str, answer["heads"])), "deprel": answer["labels"]}
    if not prediction.record.path:
        columns[reader.column] = answer["tags"]
    return fill_in(reader, prediction, columns)


class PosField(SequenceLabelField):
    """A `SequenceLabelField` whose namespace intentionally has an unknown tag, about which AllenNLP would warn."""

    __slots__: list[str] = []
    _already_warned_namespaces = {"pos"}


@DatasetReader.register("conllu_trees")
class ConlluTreesReader(TextReader):
    """Reads CoNLL-U files (Universal Dependencies) for parsers: words, one column of tags, heads and dependency labels.

    An instance has the fields that `arc_mlp_parser` and the `biaffine_parser` of allennlp-models take: `words`,
    `pos_tags` (namespace "pos"), if the tree is known `head_indices` and `head_tags`, and `metadata`, a
    `ParsedSentence`.

    A file without any HEAD is unlabeled, and a warning says so.

    # Parameters

    column : `str`, optional (default = `"upos"`)
        The column of the tags: "upos", "xpos" or "feats".
    label_namespace : `str`, optional (default = `"head_tags"`)
        The vocabulary namespace of the dependency labels.
    tokenizer, token_indexers, max_tokens, encoding, max_instances
        See `TextReader` and `NefDatasetReader`.
    """

    text_fields = ("words",)
    writers: ClassVar[dict[str, Writer]] = {"conllu": write_conllu_tree}

    def __init__(
        self, column: str = "upos", label_namespace: str = "head_tags", **kwargs: Any
    ) -> None:
        super().__init__(label_namespace=label_namespace, **kwargs)
        self.column = check_column(column)

    def parse(self, path: str) -> Iterator[ConlluSentence]:
        return read_conllu(path, self.encoding)

    def examples(self, file_path: str) -> Iterator[ParsedSentence]:
        has_trees, sentences = peek(
            self.parse(file_path), lambda each: {*each.column("head")} != {UNKNOWN}
        )
        if not has_trees:
            self.warn("%s has no HEAD, so its sentences are unlabeled.", file_path)
        for parsed in sentences:
            words, tags = parsed.column("form"), parsed.column(self.column)
            sentence = ParsedSentence(words, path=file_path, lines=parsed.lines, pos=tags)
            if has_trees:
                sentence.heads, sentence.labels = tree_of(parsed)
            yield sentence

    def to_instance(self, example: ParsedSentence) -> Instance:
        tokens = text_field(example.words)
        fields: dict[str, Field] = {
            "words": tokens,
            "pos_tags": PosField(example.pos, tokens, "pos"),
        }
        if example.heads is not None and example.labels is not None:
            fields["head_tags"] = TagsField(example.labels, tokens, self.label_namespace)
            fields["head_indices"] = SequenceLabelField(example.heads, tokens, "head_index_tags")
        return Instance({**fields, "metadata": MetadataField(example)})

    def text_to_instance(
        self,
        words: str | list[str],
        tags: list[str] | None = None,
        heads: list[int] | None = None,
        labels: list[str] | None = None,
    ) -> Instance:
        """Returns the instance of a sentence, from a string or its words, and if they are known from their tags and
        their tree: see `ParsedSentence`.
        """
        words = self.split(words)
        tags = tags or [UNKNOWN] * len(words)
        return self.to_instance(ParsedSentence(words, pos=tags, heads=heads, labels=labels))


def projective_heads(scores: numpy.ndarray, lengths: Sequence[int]) -> numpy.ndarray:
    """Returns the heads of the projective tree with the highest score, in which exactly one word is the root.

    The score of a tree is the sum of the scores of its arcs. The dynamic program of Eisner, "Three New Probabilistic
    Models for Dependency Parsing" (COLING 1996), for all sentences and all spans of the same width at once.

    # Parameters

    scores : `numpy.ndarray`, (batch, words, words + 1)
        The score of each head of each word: head 0 is the root, head i + 1 is word i. The score of a word as its own
        head and all scores in padding are ignored.
    lengths : `Sequence[int]`, (batch,)
        The number of words of each sentence, at least 1.

    # Returns

    `numpy.ndarray`, (batch, words)
        The head of each word, from 0 to words; 0 in padding.
    """
    batch, words, _ = scores.shape
    arcs = scores[:, :, 1:]  # (batch, word, head)
    # The best scores of the words i to j, (batch, i, j). The head of a complete span is one of its ends: i in `right`,
    # j in `left`. An arc connects the ends of an incomplete span, to j in `right_arc` and to i in `left_arc`.
    right, left, right_arc, left_arc = numpy.zeros((4, batch, words, words))
    splits = {kind: numpy.zeros((batch, words, words), int) for kind in ("arc", "right", "left")}

    def best(kind: str, candidates: numpy.ndarray) -> numpy.ndarray:
        """Returns the highest scores (batch, spans) of (batch, spans, splits). Remembers the splits."""
        offsets = candidates.argmax(-1)
        splits[kind][:, i, j] = i + offsets
        return numpy.take_along_axis(candidates, offsets[..., None], -1)[..., 0]

    for width in range(1, words):
        i = numpy.arange(words - width)
        j = i + width
        first, last = i[:, None], j[:, None]
        split = first + numpy.arange(width)  # (spans, splits)
        joined = best("arc", right[:, first, split] + left[:, split + 1, last])
        right_arc[:, i, j] = joined + arcs[:, j, i]
        left_arc[:, i, j] = joined + arcs[:, i, j]
        right[:, i, j] = best("right", right_arc[:, first, split + 1] + right[:, split + 1, last])
        left[:, i, j] = best("left", left[:, first, split] + left_arc[:, split, last])
    heads = numpy.zeros((batch, words), dtype=int)
    for row, length in enumerate(lengths):
        trees = left[row, 0, :length] + right[row, :length, length - 1] + scores[row, :length, 0]
        row_splits = {kind: table[row].tolist() for kind, table in splits.items()}
        heads[row, :length] = _follow(row_splits, int(trees.argmax()), length)
    return heads


def _follow(splits: dict[str, list[list[int]]], root: int, length: int) -> list[int]:
    """Returns the heads of one sentence: unfolds the two complete spans of the root."""
    heads = [0] * length
    spans = [("left", 0, root), ("right", root, length - 1)]
    while spans:
        kind, first, last = spans.pop()
        if first == last:
            continue
        middle = splits[kind][first][last]
        if kind == "right":
            middle += 1
            heads[middle] = first + 1
            spans.append(("right", middle, last))
            last = middle
        else:
            heads[middle] = last + 1
            spans.append(("left", first, middle))
            first = middle
        # the words below the arc between `first` and `last`
        split = splits["arc"][first][last]
        spans += [("right", first, split), ("left", split + 1, last)]
    return heads


class ArcScores(torch.nn.Module):
    """Scores of arcs by an MLP over the states of a head and a word: v . tanh(W_h h + W_m m + b)."""

    def __init__(self, states_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.heads = torch.nn.Linear(states_dim, hidden_dim)
        self.words = torch.nn.Linear(states_dim, hidden_dim, bias=False)
        self.vector = torch.nn.Parameter(torch.empty(hidden_dim))
        torch.nn.init.uniform_(self.vector, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def forward(self, states: Tensor) -> Tensor:
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

    def forward(self, states: Tensor, heads: Tensor) -> Tensor:
        """States (batch, words + 1, dim) and heads (batch, words) -> scores (batch, words, labels)."""
        hidden = self.heads(states)
        index = heads.unsqueeze(-1).expand(-1, -1, hidden.size(-1))
        return self.labels(torch.tanh(hidden.gather(1, index) + self.words(states[:, 1:])))


def margin_loss(scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
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


def best_trees(scores: Tensor, mask: Tensor) -> Tensor:
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
        pos_tags: Tensor,
        metadata: list[ParsedSentence] | None = None,
        head_tags: Tensor | None = None,
        head_indices: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """
        # Parameters

        words : `TextFieldTensors`
        pos_tags : `torch.LongTensor`, (batch, words)
        metadata : `list[ParsedSentence]`, optional (default = `None`)
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
        output: dict[str, Tensor] = {}
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

    def _states(self, words: TextFieldTensors, pos_tags: Tensor, mask: Tensor) -> Tensor:
        """Returns the states of the root and the words: (batch, words + 1, dim)."""
        vectors = self.text_field_embedder(words)
        if self.pos_tag_embedding is not None:
            vectors = torch.cat([vectors, self.pos_tag_embedding(pos_tags)], -1)
        root = self.root.to(vectors).expand(len(vectors), 1, -1)
        vectors = torch.cat([root, zero_padding(vectors, mask)], 1)
        mask = torch.cat([mask.new_ones(len(mask), 1), mask], 1)
        return self.dropout(zero_padding(self.encoder(self.dropout(vectors), mask), mask))

    def _arc_scores(self, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, words, words + 1); negative infinity for padding and for a word as its own head."""
        count = mask.size(1)
        own = torch.eye(count, count + 1, dtype=torch.bool, device=mask.device).roll(1, 1)
        padding = torch.cat([mask.new_zeros(len(mask), 1), ~mask], 1).unsqueeze(1)
        return self.arcs(states).masked_fill(own | padding, -math.inf)

    def _tree_loss(self, scores: Tensor, gold: Tensor, mask: Tensor) -> Tensor:
        """Returns the structured hinge loss, summed over the sentences."""
        index = gold.unsqueeze(-1)
        costs = torch.ones_like(scores).scatter(-1, index, 0)
        heads = best_trees(scores + costs, mask)
        margins = scores.gather(-1, heads.unsqueeze(-1)) - scores.gather(-1, index)
        margins = (margins.squeeze(-1) + (heads != gold)).masked_fill(~mask, 0)
        # a gold tree that is not projective may score higher than the best one that is
        return margins.sum(-1).clamp(min=0).sum()

    def _with_root_label(self, scores: Tensor, heads: Tensor) -> Tensor:
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

        def rows(values: Tensor) -> list[list[Any]]:
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


@Predictor.register("dependency_parser")
class DependencyParserPredictor(TaskPredictor):
    """Parses sentences with `arc_mlp_parser`, or with `biaffine_parser` from allennlp-models.

    A request is a JSON object:

        {"sentence": "The dog barks", "tags": ["DET", "NOUN", "VERB"]}

    `sentence` is raw text or a list of words. `tags` are the tags of the words, as in the training data; a model that
    does not use tags needs none. The answer has `words`, `tags`, `heads` (the number of the head of each word, from 1;
    0 for the root) and `labels`, and with `arc_mlp_parser` `head_probabilities` (among all heads of the word, whether
    or not they form a tree) and `label_probabilities` (given the head).

    For the parameters see `NefPredictor`. The output format "conllu" is the input file with HEAD and DEPREL filled in.
    """

    task = "dependencies"
    needs_square_memory = True
    fields: Mapping[str, Check] = {
        "sentence": TEXT,
        "tags": (lambda value: isinstance(value, list), "a list of tags"),
    }
    _dataset_reader: ConlluTreesReader

    def __init__(self, model: Model, dataset_reader: ConlluTreesReader, **options: Any) -> None:
        names = ("pos_tag_embedding", "_pos_tag_embedding")  # the latter in `biaffine_parser`
        reads_tags = any(getattr(model, name, None) is not None for name in names)
        self.required = ("sentence", "tags") if reads_tags else ("sentence",)
        self.text_field = None if reads_tags else "sentence"
        super().__init__(model, dataset_reader, **options)

    def predict(self, sentence: str | list[str], tags: list[str] | None = None) -> JsonDict:
        """Returns the answer to a sentence."""
        return self.predict_json({"sentence": sentence, "tags": tags})

    def to_item(self, request: dict[str, Any]) -> Item:
        words, tags = self.words_of(request, "sentence"), request.get("tags")
        if tags is not None:
            check_words("tags", tags, self.max_tokens)
            if len(tags) != len(words):
                raise UserError(f"tags: expected {len(words)} tags, got {len(tags)}")
        return Item(self._dataset_reader.text_to_instance(words, tags))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        record = item.record
        names = ("head_probabilities", "label_probabilities")
        return {
            "words": record.words,
            "tags": record.pos,
            "heads": [int(head) for head in output["predicted_heads"]],
            "labels": output["predicted_dependencies"],
            **{name: output[name] for name in names if name in output},
        }
