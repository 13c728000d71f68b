"""Attention of words to labels: Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling"
(EMNLP 2019), Section 3."""

import math
from typing import NamedTuple, Optional

import torch


class LabelProjections(NamedTuple):
    """What the labels bring to the heads of an attention: the same for all words."""

    queries: Optional[torch.Tensor]
    """W^Q: (dim, dim), a block of columns a head; None where `keys` has it."""
    keys: torch.Tensor
    """K W^K of each head: (heads, dim / heads, labels); or, with W^Q, W^Q (K W^K)^T: (dim, heads * labels)."""
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
    The projections of labels, with the factor of the scores in them.

    A query is only ever multiplied by the keys of the labels. Where these are few, their product with W^Q is a smaller
    matrix than W^Q, and takes its place.

    # Parameters

    labels : `torch.Tensor`, (labels, dim)
        x^l.
    query_weight, key_weight, value_weight : `torch.Tensor`, (dim, dim)
        W^Q, W^K and W^V of all heads, a block of dim / heads columns a head.
    num_heads : `int`
        k; divides dim.
    scale : `float`
        What the scores are multiplied by.
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
    Where each head of a multi-head scaled dot-product attention looks, from each word to the labels.

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
    H^l = concat(alpha_1 V W^V_1, ..., alpha_k V W^V_k) + H^w: (batch, tokens, dim).

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
    What a matrix that is to multiply [H^w; H^l] is for [H^w; alpha]: for A and B, its halves, [A + B; B (V W^V)^T].

    H^l adds a sum over labels to H^w: where labels are few, the product with their distribution is the smaller one.

    # Parameters

    weight : `torch.Tensor`, (rows, 2 * dim)
        [A; B].
    values : `torch.Tensor`, (heads, labels, dim / heads)
        V W^V.

    # Returns

    `torch.Tensor`, (rows, dim + heads * labels)
    """
    of_words, of_labels = weight.chunk(2, dim=1)
    num_heads, _, size = values.shape
    by_head = of_labels.view(-1, num_heads, size).transpose(0, 1)  # (heads, rows, dim / heads)
    folded = (by_head @ values.transpose(1, 2)).transpose(0, 1)  # (rows, heads, labels)
    return torch.cat([of_words + of_labels, folded.flatten(1)], dim=1)


def label_scale(dim: int, num_heads: int, of_head: bool) -> float:
    """1 / sqrt(d_h), as the paper has it, or 1 / sqrt(d_h / k), as its authors' code has."""
    return 1 / math.sqrt(dim / num_heads if of_head else dim)
