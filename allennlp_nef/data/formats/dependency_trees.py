"""Dependency trees: the columns HEAD and DEPREL of CoNLL-U."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from allennlp_nef.data.formats.conllu import UNKNOWN, ConlluSentence
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError, quote


class DependencyTree(NamedTuple):
    """The basic dependencies of a sentence."""

    heads: list[int]
    """Of each word: the number of its head, from 1; 0 for the root."""
    labels: list[str]
    """Of each word: its DEPREL."""


def tree_of(sentence: ConlluSentence, path: TextPath) -> DependencyTree:
    """
    The tree of a sentence that was read from a file.

    # Raises

    `DataFormatError`, with file and line: a HEAD that is no word of the sentence, a DEPREL that is empty, no root or
    several, a cycle.
    """
    heads: list[int] = []
    labels = sentence.column("deprel")
    for head, label, line in zip(sentence.column("head"), labels, sentence.lines):
        # Python reads no numbers of thousands of digits.
        is_number = head.isascii() and head.isdigit() and len(head) < 10
        if not is_number or int(head) > len(labels):
            raise DataFormatError(
                f"{path}:{line}: expected a HEAD from 0 to {len(labels)}, got {quote(head)}"
            )
        if label == UNKNOWN:
            raise DataFormatError(f"{path}:{line}: expected a DEPREL, got {UNKNOWN!r}")
        heads.append(int(head))
    roots = [index for index, head in enumerate(heads) if head == 0]
    if len(roots) != 1:
        line = sentence.lines[roots[1] if roots else 0]
        raise DataFormatError(f"{path}:{line}: expected one word with HEAD 0, got {len(roots)}")
    cycle = find_cycle(heads)
    if cycle:
        words = ", ".join(map(str, cycle))
        line = sentence.lines[cycle[0] - 1]
        raise DataFormatError(f"{path}:{line}: expected a tree, got a cycle of the words {words}")
    return DependencyTree(heads, labels)


def check_heads(heads: Sequence[Any], count: int, name: str) -> None:
    """Raises a `DataFormatError` where numbers from Python are not the heads of a tree of so many words."""
    are_numbers = isinstance(heads, list) and all(type(head) is int for head in heads)
    if not are_numbers or len(heads) != count or not all(0 <= head <= count for head in heads):
        raise DataFormatError(
            f"{name}: expected {count} numbers from 0 to {count}, one a word, got {quote(heads)}"
        )
    if heads.count(0) != 1 or find_cycle(heads):
        raise DataFormatError(f"{name}: expected a tree with one root, got {quote(heads)}")


def find_cycle(heads: Sequence[int]) -> list[int] | None:
    """The words of a cycle, numbers from 1 in ascending order; None where there is none."""
    reaches_root = [True, *[False] * len(heads)]
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while not reaches_root[word]:
            if word in path:
                return sorted(path[path.index(word) :])
            path.append(word)
            word = heads[word - 1]
        for word in path:
            reaches_root[word] = True
    return None
