"""A small `label_attention` encoder and batches for it."""

from functools import partial

import torch

from allennlp_nef.modules.seq2seq_encoders import LabelAttention
from tests.modules.seq2seq_encoders import padded_batches
from tests.modules.tag_heads.small_head import vocabulary

INPUT_DIM, HIDDEN_DIM = 3, 8
batch_of = partial(padded_batches.batch_of, INPUT_DIM)


def make(seed=0, dtype=torch.float32, num_labels=3, **options):
    """A small encoder whose labels are far from each other."""
    torch.manual_seed(seed)
    options = {"input_dim": INPUT_DIM, "hidden_dim": HIDDEN_DIM, "num_heads": 2, **options}
    encoder = LabelAttention(vocabulary([f"L{i}" for i in range(num_labels)]), **options)
    with torch.no_grad():
        encoder.label_table.weight.normal_()
        for name, parameter in encoder.named_parameters():
            if "lstm" in name:
                parameter.normal_()
    return encoder.to(dtype)
