"""Dependency trees: the best projective one, and the label of its root."""

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch

_Spans = dict[str, list[Any]]


def projective_heads(scores: numpy.ndarray, lengths: Sequence[int]) -> numpy.ndarray:
    """
    The heads of the projective tree with the highest score, in which one word is the root.

    The score of a tree is the sum of the scores of its arcs. All spans of a width are computed at once, in all
    sentences; so there are as many steps as words.

    # Parameters

    scores : `numpy.ndarray`, (batch, words, words + 1)
        Of each word, and its heads: 0 is the root, and i + 1 is word i. Those of a word with itself do not matter.
    lengths : `Sequence[int]`, (batch,)
        The number of words of each sentence, at least 1.

    # Returns

    `numpy.ndarray`, (batch, words)
        The head of each word, from 0 to words; 0 in padding.
    """
    batch, words, _ = scores.shape
    arcs = scores[:, :, 1:]
    # Spans of words i to i + width. A complete span has its head at one end, and all words of that end's subtree in it.
    # In an incomplete one, an arc joins its ends. "right": the head is the left end, so its arcs go to the right.
    # By their first word: [:, i, width]; by their last word: [:, i + width, width].
    shape = batch, words, words
    right, right_by_end, left, left_by_end = (numpy.zeros(shape) for _ in range(4))
    right_arc, left_arc_by_end = numpy.zeros(shape), numpy.zeros(shape)
    splits = {name: numpy.zeros(shape, int) for name in ("arc", "right", "left")}
    for width in range(1, words):
        first, last = slice(0, words - width), slice(width, words)
        starts = numpy.arange(words - width)
        # Two complete spans, which meet between k and k + 1, and an arc over both.
        meeting = right[:, first, :width] + left_by_end[:, last, width - 1 :: -1]
        both = _best(meeting, splits["arc"][:, first, width])
        right_arc[:, first, width] = both + arcs[:, starts + width, starts]
        left_arc_by_end[:, last, width] = both + arcs[:, starts, starts + width]
        # An arc to a word, and the complete span of this word on its far side.
        joined = right_arc[:, first, 1 : width + 1] + right_by_end[:, last, width - 1 :: -1]
        right[:, first, width] = _best(joined, splits["right"][:, first, width])
        right_by_end[:, last, width] = right[:, first, width]
        joined = left[:, first, :width] + left_arc_by_end[:, last, width:0:-1]
        left[:, first, width] = _best(joined, splits["left"][:, first, width])
        left_by_end[:, last, width] = left[:, first, width]
    heads = numpy.zeros((batch, words), dtype=int)
    for row, length in enumerate(lengths):
        roots = numpy.arange(length)
        root_scores = left[row, 0, :length] + right[row, roots, length - 1 - roots]
        root = int((root_scores + scores[row, :length, 0]).argmax())
        parts = {name: array[row].tolist() for name, array in splits.items()}
        heads[row, :length] = _heads_of(parts, root, length)
    return heads


def _best(values: numpy.ndarray, splits: numpy.ndarray) -> numpy.ndarray:
    """The maxima of the last dimension; writes their positions into `splits`."""
    splits[...] = values.argmax(-1)
    return numpy.take_along_axis(values, splits[..., None], -1)[..., 0]


def _heads_of(splits: _Spans, root: int, length: int) -> list[int]:
    """Follows the splits from the root's two complete spans."""
    heads = [0] * length
    spans: list[tuple[str, int, int]] = [("left", 0, root), ("right", root, length - 1)]
    while spans:
        kind, first, last = spans.pop()
        if first == last:
            continue
        if kind == "right":
            middle = first + splits[kind][first][last - first] + 1
            heads[middle] = first + 1
            spans.append(("right", middle, last))
            last = middle
        else:
            middle = first + splits[kind][first][last - first]
            heads[middle] = last + 1
            spans.append(("left", first, middle))
            first = middle
        # Below the arc between first and last.
        middle = first + splits["arc"][first][last - first]
        spans += [("right", first, middle), ("left", middle + 1, last)]
    return heads


def with_root_label(scores: torch.Tensor, heads: torch.Tensor, root: int | None) -> torch.Tensor:
    """
    The scores of labels, so that the root of a tree, and no other word, gets the label `root`.

    Universal Dependencies want this. Other labels of the root, and the label `root` of other words, get minus infinity.

    # Parameters

    scores : `torch.Tensor`, (batch, words, labels)
    heads : `torch.LongTensor`, (batch, words)
        0 for the root.
    root : `int`, optional
        The index of the label `root`; None where there is none, or no other: then the scores stay as they are.

    # Returns

    `torch.Tensor`, (batch, words, labels)
    """
    if root is None or scores.size(-1) == 1:
        return scores
    is_root_label = torch.arange(scores.size(-1), device=scores.device) == root
    return scores.masked_fill((heads == 0).unsqueeze(-1) != is_root_label, -math.inf)
