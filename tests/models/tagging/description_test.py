import pytest
import torch

from allennlp_nef.models.nef_tagger_ensemble import description_of
from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.modules.options import registered_name
from tests.models.tagging.small_encoders import HEAD, compose, label_attention, self_attention
from tests.models.tagging.small_tagger import decoder, lstm, make


@pytest.mark.parametrize(
    "options, title",
    [
        ({"num_steps": 5}, "NEF-F csoftmax, N = 5"),
        (
            {
                "num_steps": "length",
                "sketch_update": "single",
                "attention": {"type": "left_to_right"},
            },
            "NEF-S left_to_right, N = L",
        ),
        ({"attention": {"type": "easy_first"}}, "NEF-F easy_first, N = 3"),
    ],
)
def test_title_is_that_of_the_decoder(options, title):
    description = description_of(make(decoder=decoder(**options)))
    assert description.title == title
    assert description.step_name == "step"
    assert description.labels == ["OK", "BAD"]
    assert not description.has_chunks
    with_crf = make(decoder=decoder(**options), tag_head={"type": "crf"})
    assert description_of(with_crf).title == f"{title} + CRF"


def test_models_without_a_trace_have_no_step_name():
    description = description_of(make())
    assert (description.title, description.step_name) == ("lstm", None)
    model = make(decoder={"type": "pass_through", "input_dim": 6}, tag_head={"type": "crf"})
    assert description_of(model)[0::3] == ("lstm + pass_through + CRF", None)


def test_title_of_joined_encoders_is_their_names_without_dropout():
    dropout = {"type": "dropout", "input_dim": 6, "dropout": 0.5}
    model = make(encoder=compose(lstm(), dropout, lstm(6)), tag_head=HEAD)
    assert description_of(model).title == "lstm + lstm + label attention"


def test_unregistered_classes_have_their_own_name():
    class Own(AttentionTransform):
        pass

    assert registered_name(AttentionTransform, Own()) == "Own"
    assert registered_name(AttentionTransform, torch.nn.Identity()) == "Identity"


@pytest.mark.parametrize(
    "options, expected",
    [
        (
            {"encoder": label_attention(num_layers=2, attend_last=False), "tag_head": HEAD},
            ("BiLSTM-LAN, 2 layers", "layer"),
        ),
        (
            {"encoder": label_attention(num_layers=2), "tag_head": {"type": "crf"}},
            ("BiLSTM-LAN, 2 layers + CRF", "layer"),
        ),
        ({"tag_head": HEAD}, ("lstm + label attention", None)),
        ({"encoder": self_attention()}, ("Position-aware self-attention", "word")),
        (
            {"encoder": compose(lstm(), self_attention(6)), "tag_head": {"type": "crf"}},
            ("Position-aware self-attention + CRF", "word"),
        ),
    ],
)
def test_title_is_that_of_the_last_encoder_with_a_trace(options, expected):
    assert description_of(make(**options))[0::3] == expected
