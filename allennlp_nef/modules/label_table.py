import torch

LABEL_SCALE = 0.0025
"""Labels start uniformly between -LABEL_SCALE and LABEL_SCALE, as in the code of Cui & Zhang (2019)."""


class LabelTable(torch.nn.Module):
    """x^l, the trained embeddings of the labels. All layers of a network and its output share one table.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3.1.

    # Parameters

    num_labels : `int`
    dim : `int`
        d_h, the dimension of the states that attend to the labels.
    """

    def __init__(self, num_labels: int, dim: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(num_labels, dim))
        torch.nn.init.uniform_(self.weight, -LABEL_SCALE, LABEL_SCALE)
