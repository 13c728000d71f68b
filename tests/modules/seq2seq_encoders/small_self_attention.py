"""A small `position_aware_self_attention` encoder and batches for it."""

import torch

from allennlp_nef.modules.seq2seq_encoders import PositionAwareSelfAttention

DIM = 4
SWITCHES = ["mask_self", "gaussian", "relative", "absolute"]


def make(seed=0, dtype=torch.float32, **options):
    """A small encoder with biases, alpha other than 1/2, and attention that is far from uniform."""
    torch.manual_seed(seed)
    options = {"input_dim": DIM, "hidden_dim": 3, "window": 2, **options}
    encoder = PositionAwareSelfAttention(**options)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_()
    return encoder.to(dtype)


def batch_of(lengths, dtype=torch.float32, padding=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = len(lengths), max(lengths), DIM
    inputs = torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    inputs[~mask] = padding
    return inputs, mask
