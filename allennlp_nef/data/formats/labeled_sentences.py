"""
Sentences that have one label each, a sentence a line. Empty lines are no sentences.

| layout | a line | example |
|---|---|---|
| `tab` | label, tab, sentence | `LOC<tab>Where is Oslo ?` |
| `blank` | label, blank, sentence: the Stanford Sentiment Treebank (SST) without its trees | `3 a good film` |
| `trec` | coarse and fine label with a colon between, blank, question: TREC | `LOC:city What city is it ?` |
| `trees` | a tree in brackets, with a label at each node; that of the root counts: SST | `(3 (2 a) (4 good))` |

Trees with all their labels are read by `read_trees`: a bracket has a label, and one word or two trees.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from allennlp_nef.data.formats.characters import SplitWords, check_labels
from allennlp_nef.data.formats.text_files import TextPath, parse_lines
from allennlp_nef.errors import OnError, quote, raise_error


class LabeledTree(NamedTuple):
    """A tree. Its nodes are in the order in which their brackets are closed, so the root is the last one."""

    words: list[str]
    labels: list[str]
    """Of each node."""
    heads: list[int]
    """The parent of each node, from 1; 0 for the root."""
    leaves: list[int]
    """Of each node: the index of its word, from 0; -1 where it has none."""

    @property
    def label(self) -> str:
        """That of the root."""
        return self.labels[-1]

    def as_text(self, labels: list[str]) -> str:
        """The tree in brackets, with other labels."""
        texts: list[list[str]] = [[] for _ in self.heads]
        for node, (head, leaf) in enumerate(zip(self.heads, self.leaves)):
            inside = self.words[leaf] if leaf >= 0 else " ".join(texts[node])
            text = f"({labels[node]} {inside})"
            if head == 0:
                return text
            texts[head - 1].append(text)
        raise ValueError("a tree has a root")


def read_trees(
    path: TextPath, encoding: str = "utf-8", on_error: OnError = raise_error
) -> Iterator[tuple[int, LabeledTree]]:
    """
    The trees of a file, each after its line.

    # Raises

    `DataFormatError`: what `parse_lines` raises, a line that is not a tree, a node with other than two parts.
    """

    def parse(number: int, line: str) -> tuple[int, LabeledTree]:
        tree = parse_tree(line)
        check_binary(tree)
        return number, tree

    return parse_lines(path, parse, "tree, got an empty file", encoding, on_error)


def parse_tree(line: str) -> LabeledTree:
    """The tree of a line. Raises a `ValueError` for what is none."""
    tree = LabeledTree([], [], [], [])
    # In each open bracket: its label and its words, and its nodes. The first one holds the whole line.
    texts: list[list[str]] = [[]]
    nodes: list[list[int]] = [[]]
    for token in re.findall(r"[()]|[^ \t()]+", line):
        if token == "(":
            texts.append([])
            nodes.append([])
        elif token != ")":
            # A word after a tree is no label and no word of its own.
            texts[-1].append(token if not nodes[-1] else "")
        elif len(texts) == 1:
            raise ValueError(f"expected a bracket ( for each ), got {quote(line)}")
        else:
            text, parts = texts.pop(), nodes.pop()
            if "" in text or len(text) + bool(parts) != 2:
                raise ValueError(
                    f"expected in each bracket a label and one word, or a label and trees, got {quote(line)}"
                )
            for part in parts:
                tree.heads[part] = len(tree.heads) + 1
            nodes[-1].append(len(tree.heads))
            tree.labels.append(text[0])
            tree.heads.append(0)
            tree.leaves.append(-1 if parts else len(tree.words))
            tree.words.extend(text[1:])
    if len(texts) > 1:
        raise ValueError(f"expected a bracket ) for each (, got {quote(line)}")
    if texts != [[]] or len(nodes[0]) != 1:
        raise ValueError(f"expected one tree in brackets, got {quote(line)}")
    return tree


def check_binary(tree: LabeledTree) -> None:
    """Raises a `ValueError` where a node has neither a word nor two parts."""
    counts = Counter(tree.heads)
    for node, leaf in enumerate(tree.leaves, 1):
        if leaf < 0 and counts[node] != 2:
            raise ValueError(
                f"expected nodes with a word or two parts, got one with {counts[node]}"
            )


class LabeledSentence(NamedTuple):
    """A sentence of a file."""

    line: int
    """From 1."""
    label: str
    words: list[str]


def read_labeled_sentences(
    path: TextPath,
    layout: str = "tab",
    split: SplitWords = str.split,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> Iterator[LabeledSentence]:
    """
    The sentences of a file, in its order.

    # Parameters

    layout : `str`, optional (default = `"tab"`)
        One of `LAYOUTS`.
    split : `Callable[[str], list[str]]`, optional (default = `str.split`)
        The words of a sentence. The words of trees are those between brackets and blanks.

    # Raises

    `DataFormatError`: what `parse_lines` raises, a line that does not fit the layout, a label that `check_labels`
    refuses, a sentence without words.
    """

    def parse(number: int, line: str) -> LabeledSentence:
        label, words = LAYOUTS[layout](line, split)
        if not words:
            raise ValueError("expected a sentence after the label, got none")
        check_labels([label], f"{path}:{number}")
        return LabeledSentence(number, label, words)

    return parse_lines(path, parse, "sentence, got an empty file", encoding, on_error)


def _after_tab(line: str, split: SplitWords) -> tuple[str, list[str]]:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected a label, a tab and a sentence, got no tab: {quote(line)}")
    return label, split(text)


def _after_blank(line: str, split: SplitWords) -> tuple[str, list[str]]:
    label, _, text = line.partition(" ")
    return label, split(text)


def _question(line: str, split: SplitWords) -> tuple[str, list[str]]:
    label, words = _after_blank(line, split)
    if not re.fullmatch("[^:]+:[^:]+", label):
        raise ValueError(f"expected a label such as LOC:city, got {quote(label)}")
    return label, words


def _tree(line: str, _: SplitWords) -> tuple[str, list[str]]:
    tree = parse_tree(line)
    return tree.label, tree.words


LAYOUTS: dict[str, Callable[[str, SplitWords], tuple[str, list[str]]]] = {
    "tab": _after_tab,
    "blank": _after_blank,
    "trec": _question,
    "trees": _tree,
}
