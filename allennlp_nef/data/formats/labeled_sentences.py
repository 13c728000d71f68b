"""
Sentences that have one label each, a sentence a line. Empty lines are no sentences.

| layout | a line | example |
|---|---|---|
| `tab` | label, tab, sentence | `LOC<tab>Where is Oslo ?` |
| `blank` | label, blank, sentence: the Stanford Sentiment Treebank (SST) without its trees | `3 a good film` |
| `trec` | coarse and fine label with a colon between, blank, question: TREC | `LOC:city What city is it ?` |
| `trees` | a tree in brackets, with a label at each node; that of the root counts: SST | `(3 (2 a) (4 good))` |
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from allennlp_nef.data.formats.characters import check_labels
from allennlp_nef.data.formats.labeled_trees import parse_tree
from allennlp_nef.data.formats.text_files import TextPath, first_line_of, is_blank, iterate_lines
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

Split = Callable[[str], list[str]]


class LabeledSentence(NamedTuple):
    """A sentence of a file."""

    line: int
    """From 1."""
    label: str
    words: list[str]


def read_labeled_sentences(
    path: TextPath,
    layout: str = "tab",
    split: Split = str.split,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> Iterator[LabeledSentence]:
    """
    The sentences of a file, in its order.

    # Parameters

    path : `str` or `FileSlice`
    layout : `str`, optional (default = `"tab"`)
        One of `LAYOUTS`.
    split : `Callable[[str], list[str]]`, optional (default = `str.split`)
        The words of a sentence. The words of trees are those between brackets and blanks.
    encoding : `str`, optional (default = `"utf-8"`)
    on_error : `OnError`, optional (default: raise the error)
        What happens to a sentence that cannot be read.

    # Raises

    `DataFormatError`: what `iterate_lines` raises, a line that does not fit the layout, a label that `check_labels`
    refuses, a sentence without words, a file without sentences.
    """
    parse = LAYOUTS[layout]
    has_sentence = False
    for number, line in enumerate(iterate_lines(path, encoding), first_line_of(path)):
        if is_blank(line):
            continue
        has_sentence = True
        place = f"{path}:{number}"
        try:
            try:
                label, words = parse(line.rstrip("\r\n"), split)
                if not words:
                    raise ValueError("expected a sentence after the label, got none")
            except ValueError as error:
                raise DataFormatError(f"{place}: {error}") from None
            check_labels([label], place)
        except DataFormatError as error:
            on_error(error)
            continue
        yield LabeledSentence(number, label, words)
    if not has_sentence:
        raise DataFormatError(
            f"{path}:{first_line_of(path)}: expected at least one sentence, got an empty file"
        )


def _after_tab(line: str, split: Split) -> tuple[str, list[str]]:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected a label, a tab and a sentence, got no tab: {quote(line)}")
    return label, split(text)


def _after_blank(line: str, split: Split) -> tuple[str, list[str]]:
    label, _, text = line.partition(" ")
    return label, split(text)


def _question(line: str, split: Split) -> tuple[str, list[str]]:
    label, words = _after_blank(line, split)
    if not re.fullmatch("[^:]+:[^:]+", label):
        raise ValueError(f"expected a label such as LOC:city, got {quote(label)}")
    return label, words


def _tree(line: str, _: Split) -> tuple[str, list[str]]:
    tree = parse_tree(line)
    return tree.label, tree.words


LAYOUTS: dict[str, Callable[[str, Split], tuple[str, list[str]]]] = {
    "tab": _after_tab,
    "blank": _after_blank,
    "trec": _question,
    "trees": _tree,
}
