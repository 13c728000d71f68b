"""A small `position_aware_self_attention` encoder and batches for it."""

from functools import partial

import torch

from allennlp_nef.modules.seq2seq_encoders import PositionAwareSelfAttention
from tests.modules.seq2seq_encoders import padded_batches

DIM = 4
batch_of = partial(padded_batches.batch_of, DIM)
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
