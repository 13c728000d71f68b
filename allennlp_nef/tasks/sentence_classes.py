"""Sentences with one label, and trees with a label for each node: parsers, and the readers `labeled_sentences` and
`labeled_trees`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import MetadataField, SequenceLabelField

from allennlp_nef.data.dataset_readers.base import NefDatasetReader, TextReader, text_field
from allennlp_nef.data.fields import ClassField, TagsField
from allennlp_nef.data.files import parse_lines
from allennlp_nef.errors import quote

LAYOUTS = ("tab", "blank", "trec", "trees")


@dataclass
class LabeledTree:
    """A binary tree. Its nodes are in the order of their closing brackets, so the root is the last one."""

    words: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    """The label of each node."""
    heads: list[int] = field(default_factory=list)
    """The parent of each node, from 1; 0 for the root."""
    leaves: list[int] = field(default_factory=list)
    """The index of the word of each node, from 0; -1 for inner nodes."""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields, for `allennlp evaluate --predictions-output-file`."""
        return asdict(self)

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
    tree = LabeledTree()
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
    | `trec` | coarse and fine label, blank, question (TREC) | `LOC:city What city is it ?` |
    | `trees` | a tree in brackets; the label is that of the root (SST) | `(3 (2 a) (4 good))` |

    In `blank` and `trec`, the separator is a tab if the lines have tabs.

    An instance has the fields that AllenNLP's `basic_classifier` takes: `tokens` (`TextField`), `label` (`ClassField`,
    if it is known) and `metadata`, a dict with `words`.

    # Parameters

    layout : `str`, optional (default = `"tab"`)
    fine_labels : `bool`, optional (default = `False`)
        Whether to read fine labels, such as `LOC:city`, instead of coarse ones. Layout `trec` only.
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `TextReader` and `NefDatasetReader`. The words of trees are not tokenized.
    """

    def __init__(self, layout: str = "tab", fine_labels: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if layout not in LAYOUTS:
            raise ConfigurationError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
        if fine_labels and layout != "trec":
            raise ConfigurationError(f"fine_labels needs the layout trec, not {layout}")
        self.layout = layout
        self.fine_labels = fine_labels

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
            label = label if self.fine_labels else coarse
        return label, words

    def text_to_instance(self, tokens: str | list[str], label: str | None = None) -> Instance:
        """Returns the instance of a sentence, a string or a list of words, and its label if it is known."""
        words = self.split(tokens)
        fields: dict[str, Field] = {"tokens": text_field(words)}
        if label is not None:
            fields["label"] = ClassField(label, self.label_namespace)
        fields["metadata"] = MetadataField({"words": words})
        return Instance(fields)


@DatasetReader.register("labeled_trees")
class LabeledTreesReader(NefDatasetReader):
    """Reads binary trees in brackets with a label for each node, such as the Stanford Sentiment Treebank, for the
    `tree_lstm` model. A line is a tree; empty lines are skipped.

    An instance has the fields `tokens` (`TextField`), `leaves` and `heads` (for each node the index of its word and
    the number of its parent, both from 1, or 0), `labels` (`TagsField`, one for each node, if they are known) and
    `metadata`, a dict with `words` and the `LabeledTree` as `tree`.

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
        fields["metadata"] = MetadataField({"words": tree.words, "tree": tree})
        return Instance(fields)
