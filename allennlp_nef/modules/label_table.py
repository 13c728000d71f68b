import torch

LABEL_SCALE = 0.0025
"""Labels are drawn uniformly between this, negative, and this, as in the code of Cui & Zhang (2019)."""


class LabelTable(torch.nn.Module):
    """x^l: trained embeddings of the labels, which all layers and the output of a network share.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3.1.

    # Parameters

    num_labels : `int`
    dim : `int`
        d_h, the dimension of the states that attend to it.
    """

    def __init__(self, num_labels: int, dim: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(num_labels, dim))
        torch.nn.init.uniform_(self.weight, -LABEL_SCALE, LABEL_SCALE)
