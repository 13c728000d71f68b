"""Attention of words to labels: Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling"
(EMNLP 2019), Section 3."""

import math
from typing import NamedTuple, Optional, Tuple

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


def attend_to_labels(
    states: torch.Tensor, projections: LabelProjections
) -> Tuple[torch.Tensor, torch.Tensor]:
    """
    Multi-head scaled dot-product attention of each word to the labels.

        head_i = softmax(Q W^Q_i (K W^K_i)^T * scale) V W^V_i,  Q = H^w, K = V = x^l

    # Parameters

    states : `torch.Tensor`, (batch, tokens, dim)
        H^w.
    projections : `LabelProjections`

    # Returns

    `Tuple[torch.Tensor, torch.Tensor]`
        The heads side by side (batch, tokens, dim), and the distribution over the labels of each (batch, tokens, heads,
        labels).
    """
    queries, keys, values = projections
    num_heads, num_labels, _ = values.shape
    words = states.flatten(0, -2)  # (words, dim)
    if queries is None:
        scores = (words @ keys).view(-1, num_heads, num_labels).transpose(0, 1)
    else:
        split = len(words), num_heads, keys.size(1)
        scores = (words @ queries).view(split).transpose(0, 1) @ keys
    weights = scores.softmax(-1)  # (heads, words, labels)
    heads = (weights @ values).transpose(0, 1).reshape(states.shape)
    weights = weights.transpose(0, 1).reshape(*states.shape[:-1], num_heads, num_labels)
    return heads, weights


def label_scale(dim: int, num_heads: int, of_head: bool) -> float:
    """1 / sqrt(d_h), as the paper has it, or 1 / sqrt(d_h / k), as its authors' code has."""
    return 1 / math.sqrt(dim / num_heads if of_head else dim)
