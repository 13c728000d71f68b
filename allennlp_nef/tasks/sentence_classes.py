"""Classes of sentences, and of the nodes of trees: readers, attention pooling, Tree-LSTMs, models and predictors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Field, Instance, TextFieldTensors, Vocabulary
from allennlp.data.fields import LabelField, MetadataField, SequenceLabelField
from allennlp.data.tokenizers import Tokenizer, WhitespaceTokenizer
from allennlp.models import BasicClassifier, Model
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.seq2vec_encoders import Seq2VecEncoder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask, masked_softmax, weighted_sum
from allennlp.predictors import Predictor, TextClassifierPredictor
from allennlp.training.metrics import CategoricalAccuracy
from torch import Tensor
from torch.nn import functional

from allennlp_nef.data.dataset_readers.base import NefDatasetReader, text_field
from allennlp_nef.data.fields import NO_LABEL, TagsField, gold_index, labels_of
from allennlp_nef.data.files import parse_lines
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.data.tokenizers import PUNCTUATION, split_text
from allennlp_nef.errors import UserError, quote
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.predictors.base import Item, NefPredictor
from allennlp_nef.predictors.requests import TEXT, Check, check_words, words_of

LAYOUTS = ("tab", "blank", "trec", "trees")


class ClassField(LabelField):
    """A `LabelField` in which a label that the vocabulary does not contain has the index `NO_LABEL`.

    PyTorch's cross-entropy ignores it, and AllenNLP's metrics count it as an error, even in AllenNLP's own models.
    """

    __slots__: list[str] = []

    def index(self, vocab: Vocabulary) -> None:
        if not self._skip_indexing:  # otherwise the label is an index
            self._label_id = gold_index(str(self.label), vocab, self._label_namespace, NO_LABEL)


def known_labels(gold: Tensor, num_labels: int) -> Tensor:
    """Replaces labels that a model does not know by `NO_LABEL`."""
    return gold.masked_fill((gold < 0) | (gold >= num_labels), NO_LABEL)


def class_loss(logits: Tensor, gold: Tensor) -> Tensor:
    """Returns the mean cross-entropy of the gold labels other than `NO_LABEL`, and 0 if there are none.

    # Parameters

    logits : `torch.Tensor`, (batch, labels)
    gold : `torch.LongTensor`, (batch,)
    """
    total = functional.cross_entropy(logits, gold, ignore_index=NO_LABEL, reduction="sum")
    return total / (gold != NO_LABEL).sum().clamp(min=1)


class TextReader(NefDatasetReader):
    """A `NefDatasetReader` that also takes sentences as strings, in files or in `text_to_instance`.

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `None`)
        Splits sentences into words. None: whitespace in files, and the rules of `punctuation` for strings in requests.
    token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `NefDatasetReader`.
    """

    def __init__(self, tokenizer: Tokenizer | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokenizer = tokenizer or PUNCTUATION
        self._file_tokenizer = tokenizer or WhitespaceTokenizer()

    def split(self, text: str | list[str]) -> list[str]:
        """Returns the words of raw text. A list of words is returned as it is."""
        return split_text(text, self.tokenizer)[0] if isinstance(text, str) else text

    def split_line(self, text: str) -> list[str]:
        """Returns the words of a sentence in a file."""
        return split_text(text, self._file_tokenizer)[0]


class TaskPredictor(NefPredictor):
    """Base class of the predictors of tasks other than tagging."""

    dropped_fields = ("label", "score", "labels", "head_indices", "head_tags")
    _dataset_reader: Any

    def description(self) -> JsonDict:
        """Describes the model as a JSON object: `task`; `title`, the class of the model; `fields`, which a request
        needs; and `max_tokens`."""
        title = type(self._model).__name__
        return {**super().description(), "title": title, "fields": list(self.required)}

    def words_of(self, request: JsonDict, name: str) -> list[str]:
        """Returns the words of a field of a request, raw text or a list of words."""
        split = partial(split_text, tokenizer=self._dataset_reader.tokenizer)
        return words_of(request, name, split, self.max_tokens).words


@dataclass(slots=True, eq=False)
class LabeledTree(Sentence):
    """A binary tree over a sentence. Its nodes are in the order of their closing brackets: the root is the last one."""

    labels: list[str] = field(default_factory=list)
    """The label of each node."""
    heads: list[int] = field(default_factory=list)
    """The parent of each node, from 1; 0 for the root."""
    leaves: list[int] = field(default_factory=list)
    """The index of the word of each node, from 0; -1 for inner nodes."""

    def with_labels(self, labels: Sequence[str]) -> str:
        """Returns the tree in brackets, with different labels."""
        inside: list[list[str]] = [[] for _ in range(len(self.heads) + 1)]
        for node, (head, leaf, label) in enumerate(zip(self.heads, self.leaves, labels), 1):
            content = self.words[leaf] if leaf >= 0 else " ".join(inside[node])
            inside[head].append(f"({label} {content})")
        return inside[0][0]


def parse_tree(text: str) -> LabeledTree:
    """Returns the tree of a text such as `(3 (2 a) (4 good))`: a bracket holds a label, and a word or two trees. Raises
    a `ValueError` for any other text.
    """
    tree = LabeledTree([])
    # The texts and the nodes in each open bracket. The first item is the whole line.
    texts: list[list[str]] = [[]]
    nodes: list[list[int]] = [[]]
    for token in re.findall(r"[()]|[^ \t()]+", text):
        if token == "(":
            texts.append([])
            nodes.append([])
        elif token == ")" and len(texts) > 1:
            label, *words = texts.pop() or [""]
            children = nodes.pop()
            if not label or (len(words), len(children)) not in ((1, 0), (0, 2)):
                raise ValueError(
                    f"expected in brackets a label, and a word or two trees, got {quote(text)}"
                )
            for child in children:
                tree.heads[child] = len(tree.heads) + 1
            nodes[-1].append(len(tree.heads))
            tree.labels.append(label)
            tree.heads.append(0)
            tree.leaves.append(len(tree.words) if words else -1)
            tree.words.extend(words)
        elif token == ")" or nodes[-1]:
            raise ValueError(f"expected one tree in brackets, got {quote(text)}")
        else:
            texts[-1].append(token)
    if len(texts) > 1 or texts[0] or len(nodes[0]) != 1:
        raise ValueError(f"expected one tree in brackets, got {quote(text)}")
    return tree


@DatasetReader.register("labeled_sentences")
class LabeledSentencesReader(TextReader):
    """Reads sentences with one label each, such as the questions of TREC and the Stanford Sentiment Treebank (SST). A
    line is a sentence; empty lines are skipped.

    | layout | a line | example |
    |---|---|---|
    | `tab` | label, tab, sentence | `LOC<tab>Where is Oslo ?` |
    | `blank` | label, blank, sentence (SST without trees) | `3 a good film` |
    | `trec` | coarse label (read) and fine label, blank, question (TREC) | `LOC:city What city is it ?` |
    | `trees` | a tree in brackets; the label is that of the root (SST) | `(3 (2 a) (4 good))` |

    In `blank` and `trec`, the separator is a tab if the lines have tabs.

    An instance has the fields that `sentence_classifier` and AllenNLP's `basic_classifier` take: `tokens`
    (`TextField`), `label` (`ClassField`, if it is known) and `metadata`, a `Sentence`.

    # Parameters

    layout : `str`, optional (default = `"tab"`)
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `TextReader` and `NefDatasetReader`. The words of trees are not tokenized.
    """

    def __init__(self, layout: str = "tab", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ConfigurationError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
        self.layout = layout

    def examples(self, file_path: str) -> Iterator[dict[str, Any]]:
        has_fields = self.layout != "trees"
        for _, (label, words) in parse_lines(file_path, self._parse, self.encoding, has_fields):
            yield {"tokens": words, "label": label}

    def _parse(self, line: str) -> tuple[str, list[str]]:
        if self.layout == "trees":
            tree = parse_tree(line)
            return tree.labels[-1], tree.words
        line = line.rstrip()
        label, _, text = line.partition("\t" if self.layout == "tab" or "\t" in line else " ")
        words = self.split_line(text)
        if not label or not words:
            raise ValueError(f"expected a label, a separator and a sentence, got {quote(line)}")
        if self.layout == "trec":
            coarse, _, fine = label.partition(":")
            if not coarse or not fine:
                raise ValueError(f"expected a label such as LOC:city, got {quote(label)}")
            label = coarse
        return label, words

    def text_to_instance(self, tokens: str | list[str], label: str | None = None) -> Instance:
        """Returns the instance of a sentence, a string or a list of words, and its label if it is known."""
        words = self.split(tokens)
        fields: dict[str, Field] = {"tokens": text_field(words)}
        if label is not None:
            fields["label"] = ClassField(label, self.label_namespace)
        fields["metadata"] = MetadataField(Sentence(words))
        return Instance(fields)


@DatasetReader.register("labeled_trees")
class LabeledTreesReader(NefDatasetReader):
    """Reads binary trees in brackets with a label for each node, such as the Stanford Sentiment Treebank, for the
    `tree_lstm` model. A line is a tree; empty lines are skipped.

    An instance has the fields `tokens` (`TextField`), `leaves` and `heads` (for each node the index of its word and
    the number of its parent, both from 1, or 0), `labels` (`TagsField`, one for each node, if they are known) and
    `metadata`, the `LabeledTree`.

    # Parameters

    token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `NefDatasetReader`.
    """

    def examples(self, file_path: str) -> Iterator[dict[str, Any]]:
        for _, tree in parse_lines(file_path, parse_tree, self.encoding):
            yield {"tree": tree, "has_labels": True}

    def num_tokens(self, example: Any) -> int:
        return len(example["tree"].words)

    def text_to_instance(self, tree: str | LabeledTree, has_labels: bool = False) -> Instance:
        """Returns the instance of a tree or its bracketed text. `has_labels` says whether it has gold labels."""
        tree = parse_tree(tree) if isinstance(tree, str) else tree
        # Only provides the number of nodes to the fields that have a value for each node.
        nodes = text_field(tree.labels)
        leaves = [leaf + 1 for leaf in tree.leaves]
        fields: dict[str, Field] = {
            "tokens": text_field(tree.words),
            "leaves": SequenceLabelField(leaves, nodes, "leaf_tags"),
            "heads": SequenceLabelField(tree.heads, nodes, "head_index_tags"),
        }
        if has_labels:
            fields["labels"] = TagsField(tree.labels, nodes, self.label_namespace)
        fields["metadata"] = MetadataField(tree)
        return Instance(fields)


@Seq2VecEncoder.register("attention_pooling")
class AttentionPooling(Seq2VecEncoder):
    """The attention of Yang et al. (NAACL 2016), Equations 5 to 7: sum_i a_i h_i with a = softmax(w . tanh(W h_i + b)).

    The vector of a sentence without words is 0.

    # Parameters

    input_dim : `int`
        The dimension of the states h_i.
    hidden_dim : `int`, optional (default = `50`)
        The dimension of w.
    """

    def __init__(self, input_dim: int, hidden_dim: int = 50) -> None:
        super().__init__()
        self._input_dim = input_dim
        self._hidden = torch.nn.Linear(input_dim, hidden_dim)
        self._scores = torch.nn.Linear(hidden_dim, 1, bias=False)

    def get_input_dim(self) -> int:
        return self._input_dim

    def get_output_dim(self) -> int:
        return self._input_dim

    def forward(self, states: Tensor, mask: torch.BoolTensor | None = None) -> Tensor:
        """Pools states (batch, tokens, input_dim) with a mask (batch, tokens) to (batch, input_dim)."""
        if mask is None:
            mask = cast(torch.BoolTensor, torch.ones_like(states[..., 0], dtype=torch.bool))
        states = zero_padding(states, mask)
        scores = self._scores(torch.tanh(self._hidden(states))).squeeze(-1)  # (batch, tokens)
        return weighted_sum(states, masked_softmax(scores, mask))


class TreeLevel(NamedTuple):
    """The nodes of the same height in a batch of trees, numbered across the batch: sentence * nodes + node."""

    nodes: Tensor  # (nodes,)
    children: Tensor  # (children,), the children of these nodes
    parents: Tensor  # (children,), positions of their parents in `nodes`
    places: Tensor  # (children,), 0 for the leftmost child of a node, 1 for the next


def tree_levels(heads: Tensor, mask: Tensor) -> list[TreeLevel]:
    """Returns the levels of a batch of trees, leaves first. All children of a node are on lower levels than the node.

    # Parameters

    heads : `torch.LongTensor`, (batch, nodes)
        The parent of each node, from 1; 0 for the root. Without cycles.
    mask : `torch.BoolTensor`, (batch, nodes)
    """
    device, (batch, count) = heads.device, heads.shape
    heads, mask = heads.cpu(), mask.cpu()
    parents = (heads - 1 + count * torch.arange(batch).unsqueeze(-1)).flatten()
    mask = mask.flatten()
    children = torch.nonzero(mask & (heads > 0).flatten()).squeeze(-1)
    # Group siblings, from left to right.
    children = children[parents[children].argsort(stable=True)]
    owners = parents[children]
    places = torch.arange(len(owners)) - torch.searchsorted(owners, owners)
    heights = torch.zeros(batch * count, dtype=torch.long)
    for _ in range(count):
        higher = heights.scatter_reduce(0, owners, heights[children] + 1, "amax")
        if torch.equal(higher, heights):
            break
        heights = higher
    heights[~mask] = -1
    positions = torch.zeros_like(heights)
    levels = []
    for height in range(int(heights.max()) + 1):
        nodes = torch.nonzero(heights == height).squeeze(-1)
        positions[nodes] = torch.arange(len(nodes))
        of_level = heights[owners] == height
        level = nodes, children[of_level], positions[owners[of_level]], places[of_level]
        levels.append(TreeLevel(*(part.to(device) for part in level)))
    return levels


class TreeEncoder(torch.nn.Module, Registrable):
    """Base class of Tree-LSTMs. Computes all nodes of the same height at once, in all trees of a batch.

    Subclasses implement `cell`.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self._input_dim, self._hidden_dim = input_dim, hidden_dim
        self.inputs = torch.nn.Linear(input_dim, 4 * hidden_dim)  # gates i and o, update u, gate f

    def get_input_dim(self) -> int:
        return self._input_dim

    def get_output_dim(self) -> int:
        return self._hidden_dim

    def forward(self, inputs: Tensor, heads: Tensor, mask: Tensor) -> Tensor:
        """Returns the states of the nodes.

        # Parameters

        inputs : `torch.Tensor`, (batch, nodes, input_dim)
        heads : `torch.LongTensor`, (batch, nodes)
            The parent of each node, from 1; 0 for the root.
        mask : `torch.BoolTensor`, (batch, nodes)

        # Returns

        `torch.Tensor`, (batch, nodes, hidden_dim)
            0 in padding.
        """
        gates = self.inputs(zero_padding(inputs, mask).flatten(0, 1))
        states = gates.new_zeros(heads.numel(), self._hidden_dim)
        memories = states.clone()
        for level in tree_levels(heads, mask):
            children = states[level.children], memories[level.children]
            state, memory = self.cell(gates[level.nodes], *children, level)
            states.index_copy_(0, level.nodes, state.to(states.dtype))
            memories.index_copy_(0, level.nodes, memory.to(states.dtype))
        return states.view(*heads.shape, self._hidden_dim)

    def root_states(self, inputs: Tensor, heads: Tensor, mask: Tensor) -> Tensor:
        """Returns the state of the root of each tree, (batch, hidden_dim), for the arguments of `forward`."""
        roots = ((heads == 0) & mask).int().argmax(-1)
        return self(inputs, heads, mask)[torch.arange(len(roots), device=roots.device), roots]

    def cell(
        self, gates: Tensor, states: Tensor, memories: Tensor, level: TreeLevel
    ) -> tuple[Tensor, Tensor]:
        """Returns the states and the memories of the nodes of a level, (nodes, hidden_dim) each.

        `gates` (nodes, 4 * hidden_dim) come from the inputs of the nodes, `states` and `memories` (children,
        hidden_dim) from their children.
        """
        raise NotImplementedError


@TreeEncoder.register("binary_tree_lstm")
class BinaryTreeLstm(TreeEncoder):
    """The N-ary Tree-LSTM with N = 2, for binarized constituency trees: Equations 9 to 14."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        # gates i and o, update u, and a gate f for each child, from the states of both children
        self.children_gates = torch.nn.Linear(2 * hidden_dim, 5 * hidden_dim, bias=False)

    def cell(
        self, gates: Tensor, states: Tensor, memories: Tensor, level: TreeLevel
    ) -> tuple[Tensor, Tensor]:
        if (level.places > 1).any():
            raise ConfigurationError(
                "binary_tree_lstm: a node has more than two children; child_sum_tree_lstm takes any number"
            )
        dim = self._hidden_dim
        rows = 2 * level.parents + level.places
        missing = gates.new_zeros(2 * len(gates), dim)
        states = missing.index_copy(0, rows, states).view(-1, 2 * dim)
        memories = missing.index_copy(0, rows, memories).view(-1, 2, dim)
        gates = torch.cat([gates, gates[:, 3 * dim :]], -1)  # the input's part of f, twice
        i, o, u, left, right = (gates + self.children_gates(states)).split(dim, -1)
        forget = torch.sigmoid(torch.stack([left, right], 1))  # Eq. 10
        memory = torch.sigmoid(i) * torch.tanh(u) + (forget * memories).sum(1)  # Eq. 13
        return torch.sigmoid(o) * torch.tanh(memory), memory


@TreeEncoder.register("child_sum_tree_lstm")
class ChildSumTreeLstm(TreeEncoder):
    """The Child-Sum Tree-LSTM, for trees with any number of children, such as dependency trees: Equations 2 to 8."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        self.sums = torch.nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.forget = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)

    def cell(
        self, gates: Tensor, states: Tensor, memories: Tensor, level: TreeLevel
    ) -> tuple[Tensor, Tensor]:
        dim = self._hidden_dim
        nothing = gates.new_zeros(len(gates), dim)
        sums = nothing.index_add(0, level.parents, states)  # Eq. 2
        i, o, u = (gates[:, : 3 * dim] + self.sums(sums)).split(dim, -1)
        f = torch.sigmoid(gates[level.parents, 3 * dim :] + self.forget(states))  # Eq. 4
        kept = nothing.index_add(0, level.parents, (f * memories).to(nothing.dtype))
        memory = torch.sigmoid(i) * torch.tanh(u) + kept  # Eq. 7
        return torch.sigmoid(o) * torch.tanh(memory), memory


@Model.register("sentence_classifier")
class SentenceClassifier(BasicClassifier):
    """AllenNLP's `basic_classifier` for gold labels that may be unseen in training.

    They count as errors and do not count in the loss, which is 0 if a batch has no other labels. For the parameters see
    AllenNLP.
    """

    def forward(self, tokens: Any, label: Any = None, metadata: Any = None) -> dict[str, Any]:
        if label is None:
            return super().forward(tokens)
        label = known_labels(label, self._num_labels)
        output = super().forward(tokens, label)
        return {**output, "loss": class_loss(output["logits"], label)}


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
        leaves: Tensor,
        heads: Tensor,
        labels: Tensor | None = None,
        metadata: list[LabeledTree] | None = None,
    ) -> dict[str, Tensor]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        leaves, heads : `torch.LongTensor`, (batch, nodes)
            For each node its word, from 1, or 0; and its parent, from 1, or 0 for the root, which is the last node.
        labels : `torch.LongTensor`, (batch, nodes), optional (default = `None`, not known)
            Labels that the model does not know count as errors and are ignored in the loss.
        metadata : `list[LabeledTree]`, optional (default = `None`)
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
            gold = known_labels(labels.masked_fill(~is_node, NO_LABEL), len(self.labels))
            outputs["loss"] = class_loss(logits.flatten(0, 1), gold.flatten())
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


@Predictor.register("sentence_classifier")
class SentenceClassifierPredictor(TaskPredictor):
    """Labels sentences with the `sentence_classifier` model and the `labeled_sentences` reader.

    A request is a JSON object, such as `{"sentence": "Where is Oslo?"}`, with raw text or a list of words. The
    answer has `tokens`, `label` and `probabilities`, an object with the probability of each label. Unlike AllenNLP's
    `text_classifier`, it names the labels.

    For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: Mapping[str, Check] = {"sentence": TEXT}
    required = ("sentence",)
    text_field = "sentence"
    predictions_to_labeled_instances = TextClassifierPredictor.predictions_to_labeled_instances
    _dataset_reader: LabeledSentencesReader

    def predict(self, sentence: str | list[str]) -> JsonDict:
        """Returns the answer to a sentence."""
        return self.predict_json({"sentence": sentence})

    def to_item(self, request: dict[str, Any]) -> Item:
        return Item(self._dataset_reader.text_to_instance(self.words_of(request, "sentence")))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        labels = labels_of(self._model.vocab, self._dataset_reader.label_namespace)
        probabilities = dict(zip(labels, output["probs"].tolist()))
        return {
            "tokens": item.record.words,
            "label": output["label"],
            "probabilities": probabilities,
        }


@Predictor.register("tree_lstm")
class TreeLstmPredictor(TaskPredictor):
    """Labels the nodes of binary trees with the `tree_lstm` model.

    A request is a JSON object, such as `{"tree": "(0 (0 a) (0 (0 good) (0 film)))"}`, with a bracketed tree as in the
    Stanford Sentiment Treebank, whose labels are ignored. The answer has `tokens`, the words; `label` and
    `probabilities` of the root; and `tree`, with the predicted label of each node.

    For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: Mapping[str, Check] = {
        "tree": (lambda value: isinstance(value, str), "a tree in brackets")
    }
    required = ("tree",)
    text_field = "tree"
    _dataset_reader: LabeledTreesReader

    def predict(self, tree: str) -> JsonDict:
        """Returns the answer to a tree."""
        return self.predict_json({"tree": tree})

    def to_item(self, request: dict[str, Any]) -> Item:
        try:
            item = Item(self._dataset_reader.text_to_instance(request["tree"]))
        except ValueError as error:
            raise UserError(f"tree: {error}") from None
        check_words("tree", item.record.words, self.max_tokens)
        return item

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        record = item.record
        tree = record.with_labels(output["node_labels"])
        parts = {name: output[name] for name in ("label", "probabilities")}
        return {"tokens": record.words, **parts, "tree": tree}
