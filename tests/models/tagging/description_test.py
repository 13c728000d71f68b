"""What plots, and a page for the model, call a tagger and the rows of its trace."""

import pytest

from tests.models.tagging.small_encoders import HEAD, compose, label_attention, self_attention
from tests.models.tagging.small_tagger import decoder, lstm, make

CRF = {"tag_head": {"type": "crf"}}
LEFT_TO_RIGHT = {"sketch_update": "single", "attention": {"type": "left_to_right"}}
DROPOUT = {"type": "dropout", "input_dim": 6, "dropout": 0.5}


@pytest.mark.parametrize(
    "options, title, step_name",
    [
        ({"decoder": decoder(num_steps=5)}, "NEF-F csoftmax, N = 5", "step"),
        (
            {"decoder": decoder(num_steps="length", **LEFT_TO_RIGHT), **CRF},
            "NEF-S left_to_right, N = L + CRF",
            "step",
        ),
        ({}, "lstm", None),
        (
            {"decoder": {"type": "pass_through", "input_dim": 6}, **CRF},
            "lstm + pass_through + CRF",
            None,
        ),
        (
            {"encoder": compose(lstm(), DROPOUT, lstm(6)), "tag_head": HEAD},
            "lstm + lstm + label attention",
            None,
        ),
        (
            {"encoder": label_attention(num_layers=2, attend_last=False), "tag_head": HEAD},
            "BiLSTM-LAN, 2 layers",
            "layer",
        ),
        (
            {"encoder": compose(lstm(), self_attention(6)), **CRF},
            "Position-aware self-attention + CRF",
            "word",
        ),
    ],
)
def test_title_is_that_of_the_last_encoder_with_a_trace(options, title, step_name):
    model = make(**options)
    assert (model.title, model.step_name, model.has_chunks) == (title, step_name, False)
