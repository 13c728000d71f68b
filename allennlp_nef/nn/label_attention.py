"""Attention of words to labels: Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling"
(EMNLP 2019), Section 3."""

import math
from typing import NamedTuple

import torch


class LabelProjections(NamedTuple):
    """The projections of the labels for the heads of an attention. They are the same for all words."""

    queries: torch.Tensor | None
    """W^Q: (dim, dim), one block of columns for each head. None where `keys` includes it."""
    keys: torch.Tensor
    """K W^K of each head: (heads, dim / heads, labels). With W^Q included, W^Q (K W^K)^T: (dim, heads * labels)."""
    values: torch.Tensor
    """V W^V of each head: (heads, labels, dim / heads)."""


def project_labels(
    labels: torch.Tensor,
    query_weight: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    num_heads: int,
    scale: float,
) -> LabelProjections:
    """
    The projections of the labels, multiplied by the scale of the scores.

    A query is only multiplied by the keys of the labels. Where there are few labels, the product of W^Q and the keys is
    a smaller matrix than W^Q, and is used in its place.

    # Parameters

    labels : `torch.Tensor`, (labels, dim)
        x^l.
    query_weight, key_weight, value_weight : `torch.Tensor`, (dim, dim)
        W^Q, W^K and W^V of all heads, a block of dim / heads columns for each head.
    num_heads : `int`
        k, a divisor of dim.
    scale : `float`
        The factor of the scores.
    """
    num_labels, dim = labels.shape
    split = num_labels, num_heads, dim // num_heads
    # (heads, dim / heads, labels)
    keys = (labels @ key_weight * scale).view(split).permute(1, 2, 0)
    values = (labels @ value_weight).view(split).transpose(0, 1)  # (heads, labels, dim / heads)
    if num_heads * num_labels > dim + num_labels:
        return LabelProjections(query_weight, keys, values)
    queries = query_weight.view(dim, num_heads, -1).transpose(0, 1)  # (heads, dim, dim / heads)
    folded = (queries @ keys).transpose(0, 1).reshape(dim, -1)  # (dim, heads * labels)
    return LabelProjections(None, folded, values)


def attend_to_labels(states: torch.Tensor, projections: LabelProjections) -> torch.Tensor:
    """
    The weights of a multi-head scaled dot-product attention from each word to the labels.

        alpha_i = softmax(Q W^Q_i (K W^K_i)^T * scale),  Q = H^w, K = x^l

    # Parameters

    states : `torch.Tensor`, (batch, tokens, dim)
        H^w.
    projections : `LabelProjections`

    # Returns

    `torch.Tensor`, (batch, tokens, heads, labels)
    """
    queries, keys, values = projections
    num_heads, num_labels, _ = values.shape
    if queries is None:
        scores = (states @ keys).view(*states.shape[:-1], num_heads, num_labels)
        return scores.softmax(-1)
    words = states.flatten(0, -2)  # (words, dim)
    split = len(words), num_heads, keys.size(1)
    scores = (words @ queries).view(split).transpose(0, 1) @ keys  # (heads, words, labels)
    weights = scores.softmax(-1).transpose(0, 1)
    return weights.reshape(*states.shape[:-1], num_heads, num_labels)


def refined_states(
    states: torch.Tensor, weights: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """
    The states after label attention, H^l = concat(alpha_1 V W^V_1, ..., alpha_k V W^V_k) + H^w: (batch, tokens, dim).

    # Parameters

    states : `torch.Tensor`, (batch, tokens, dim)
        H^w.
    weights : `torch.Tensor`, (batch, tokens, heads, labels)
        alpha.
    values : `torch.Tensor`, (heads, labels, dim / heads)
        V W^V.
    """
    by_head = weights.flatten(0, -3).transpose(0, 1)  # (heads, words, labels)
    return states + (by_head @ values).transpose(0, 1).reshape(states.shape)


def folded_weight(weight: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """
    The weight that gives the same product with [H^w; alpha] as `weight` gives with [H^w; H^l].

    H^l is H^w plus a sum over labels weighted by alpha. So for a weight [A; B] the result is [A + B; B (V W^V)^T].
    Where there are few labels, the product with alpha is the smaller one.

    # Parameters

    weight : `torch.Tensor`, (rows, 2 * dim)
        [A; B].
    values : `torch.Tensor`, (heads, labels, dim / heads)
        V W^V.

    # Returns

    `torch.Tensor`, (rows, dim + heads * labels)
    """
    word_weight, label_weight = weight.chunk(2, dim=1)
    num_heads, _, size = values.shape
    by_head = label_weight.view(-1, num_heads, size).transpose(0, 1)  # (heads, rows, dim / heads)
    folded = (by_head @ values.transpose(1, 2)).transpose(0, 1)  # (rows, heads, labels)
    return torch.cat([word_weight + label_weight, folded.flatten(1)], dim=1)


def label_scale(dim: int, num_heads: int, by_head: bool) -> float:
    """The factor of the scores: 1 / sqrt(d_h) as in the paper, or with `by_head` 1 / sqrt(d_h / k) as in its code."""
    return 1 / math.sqrt(dim / num_heads if by_head else dim)
