import pytest
import torch

from allennlp_nef.models.description import description_of
from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.modules.registered_name import registered_name
from tests.models.small_encoders import HEAD, compose, label_attention, self_attention
from tests.models.small_tagger import decoder, lstm, make


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
def test_of_a_decoder(options, title):
    description = description_of(make(decoder=decoder(**options)))
    assert description.title == title
    assert description.step_name == "step"
    assert description.labels == ["OK", "BAD"]
    assert not description.has_chunks
    with_crf = make(decoder=decoder(**options), tag_head={"type": "crf"})
    assert description_of(with_crf).title == f"{title} + CRF"


def test_without_steps():
    description = description_of(make())
    assert (description.title, description.step_name) == ("lstm", None)
    model = make(decoder={"type": "pass_through", "input_dim": 6}, tag_head={"type": "crf"})
    assert description_of(model)[0::3] == ("lstm + pass_through + CRF", None)


def test_encoders_that_are_joined():
    """By their names; dropout is left out."""
    dropout = {"type": "dropout", "input_dim": 6, "dropout": 0.5}
    model = make(encoder=compose(lstm(), dropout, lstm(6)), tag_head=HEAD)
    assert description_of(model).title == "lstm + lstm + label attention"


def test_the_name_of_what_is_not_registered():
    class Own(AttentionTransform):
        pass

    assert registered_name(AttentionTransform, Own()) == "Own"
    assert registered_name(AttentionTransform, torch.nn.Identity()) == "Identity"


def test_of_layers_and_self_attention():
    """Also as the last of encoders that are joined."""
    model = make(encoder=label_attention(num_layers=2, attend_last=False), tag_head=HEAD)
    assert description_of(model)[0::3] == ("BiLSTM-LAN, 2 layers", "layer")
    model = make(encoder=compose(lstm(), self_attention(6)), tag_head={"type": "crf"})
    assert description_of(model)[0::3] == ("Position-aware self-attention + CRF", "word")
