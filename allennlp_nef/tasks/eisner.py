"""Projective dependency trees: the tree with the highest score, by Eisner's algorithm."""

from collections.abc import Sequence

import numpy


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
