"""Batches for small encoders."""

import torch


def batch_of(dim, lengths, dtype=torch.float32, padding=0.0, seed=0):
    """Random vectors of sentences with `padding` behind them, and the mask."""
    generator = torch.Generator().manual_seed(seed)
    shape = len(lengths), max(lengths), dim
    inputs = torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    inputs[~mask] = padding
    return inputs, mask
