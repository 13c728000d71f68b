"""Attention of words to labels: Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling"
(EMNLP 2019), Section 3."""

import torch


def label_attention(
    states: torch.Tensor,
    labels: torch.Tensor,
    query_weight: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    num_heads: int,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The states after multi-head scaled dot-product attention to the labels, and its weights.

        alpha_i = softmax(Q W^Q_i (K W^K_i)^T * scale),  Q = H^w,  K = V = x^l
        H^l = concat(alpha_1 V W^V_1, ..., alpha_k V W^V_k) + H^w

    # Parameters

    states : `torch.Tensor`, (..., dim)
        H^w.
    labels : `torch.Tensor`, (labels, dim)
        x^l.
    query_weight, key_weight, value_weight : `torch.Tensor`, (dim, dim)
        W^Q, W^K and W^V of all heads, a block of dim / heads columns for each head.
    num_heads : `int`
        k, a divisor of dim.
    scale : `float`
        The factor of the scores.

    # Returns

    `tuple[torch.Tensor, torch.Tensor]`
        - H^l: (..., dim).
        - alpha: (..., heads, labels).
    """
    num_labels, dim = labels.shape
    split = num_labels, num_heads, dim // num_heads
    keys = (
        (labels @ key_weight * scale).view(split).permute(1, 2, 0)
    )  # (heads, dim / heads, labels)
    values = (labels @ value_weight).view(split).transpose(0, 1)  # (heads, labels, dim / heads)
    queries = query_weight.view(dim, num_heads, -1).transpose(0, 1)  # (heads, dim, dim / heads)
    # Labels are few. The product of W^Q and the keys is the same for all words, and smaller than W^Q.
    matrix = (queries @ keys).transpose(0, 1).reshape(dim, -1)  # (dim, heads * labels)
    scores = (states @ matrix).view(*states.shape[:-1], num_heads, num_labels)
    weights = scores.softmax(-1)
    by_head = weights.flatten(0, -3).transpose(0, 1)  # (heads, words, labels)
    attended = (by_head @ values).transpose(0, 1).reshape(states.shape)
    return states + attended, weights
