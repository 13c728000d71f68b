"""Small encoders with random weights, and batches for them."""

import torch
from allennlp.data import Vocabulary

from allennlp_nef.modules.seq2seq_encoders import (
    LabelAttention,
    NeuralEasyFirst,
    PositionAwareSelfAttention,
)

DIM, PREATTENTION_DIM, SKETCH_DIM, HIDDEN_DIM = 4, 4, 2, 8


def randomized(encoder, dtype, scale=1.0):
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_().mul_(scale)
    return encoder.to(dtype)


def decoder(seed=0, dtype=torch.float32, scale=1.0, **options):
    torch.manual_seed(seed)
    dims = {"preattention_dim": PREATTENTION_DIM, "sketch_dim": SKETCH_DIM, "context_size": 1}
    return randomized(NeuralEasyFirst(DIM, **{**dims, **options}), dtype, scale)


def self_attention(seed=0, dtype=torch.float32, **options):
    torch.manual_seed(seed)
    options = {"hidden_dim": 3, "window": 2, **options}
    return randomized(PositionAwareSelfAttention(DIM, **options), dtype)


def label_attention(seed=0, dtype=torch.float32, num_labels=3, **options):
    torch.manual_seed(seed)
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    vocab.add_tokens_to_namespace([f"L{i}" for i in range(num_labels)], "labels")
    options = {"hidden_dim": HIDDEN_DIM, "num_heads": 2, **options}
    return randomized(LabelAttention(vocab, DIM, **options), dtype)


def batch_of(lengths, dtype=torch.float32, padding=0.0, seed=0):
    """Random vectors of sentences followed by `padding`, and the mask."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(
        len(lengths), max(lengths), DIM, generator=generator, dtype=torch.float64
    ).to(dtype)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    inputs[~mask] = padding
    return inputs, mask
