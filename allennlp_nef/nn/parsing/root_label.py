import math

import torch


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
