"""A small `neural_easy_first` encoder and batches for it."""

import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst

UPDATES = ["single", "full"]
TRANSFORMS = [SoftmaxTransform, ConstrainedSoftmaxTransform, ConstrainedSparsemaxTransform]
INPUT_DIM, PREATTENTION_DIM, SKETCH_DIM = 3, 4, 2


def make(seed=0, dtype=torch.float32, scale=2.0, **options):
    """A small encoder with biases and with attention that is far from uniform."""
    options.setdefault("context_size", 1)
    torch.manual_seed(seed)
    encoder = NeuralEasyFirst(
        INPUT_DIM, preattention_dim=PREATTENTION_DIM, sketch_dim=SKETCH_DIM, **options
    )
    with torch.no_grad():
        encoder.bias.normal_()
        for parameter in encoder.parameters():
            parameter.mul_(scale)
    return encoder.to(dtype)


def batch_of(lengths, dtype=torch.float32, padding=0.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(len(lengths), max(lengths), INPUT_DIM, generator=generator, dtype=dtype)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    inputs[~mask] = padding
    return inputs, mask
