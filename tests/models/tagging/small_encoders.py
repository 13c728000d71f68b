"""Encoders with a trace for the small `nef_tagger`, in configs."""

import torch

from allennlp_nef.models.nef_tagger import shared_label_table
from tests.models.tagging.small_tagger import lstm

HEAD = {"type": "label_attention"}


def label_attention(input_dim=24, **options):
    sizes = {"input_dim": input_dim, "hidden_dim": 6, "num_heads": 3}
    return {"type": "label_attention", **sizes, **options}


def compose(*encoders):
    return {"type": "compose", "encoders": list(encoders)}


def self_attention(input_dim=24):
    return {"type": "position_aware_self_attention", "input_dim": input_dim, "window": 3}


STACK = compose(
    label_attention(num_layers=2),
    lstm(12),
    label_attention(6),
    label_attention(12, attend_last=False),
)


def spread(model, scale=1.0):
    """Labels far from each other, so that words differ in them."""
    torch.manual_seed(1)
    table = shared_label_table("labels", model.encoder)
    with torch.no_grad():
        table.weight.normal_(std=scale)
    return model
