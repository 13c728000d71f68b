"""Taggers whose sentences halt before their last step."""

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.models.base import DecodeOptions, with_options
from allennlp_nef.modules.halting import FixedHalting, SettledHalting
from tests.models.tagging.small_encoders import label_attention
from tests.models.tagging.small_tagger import LENGTHS, batch_of, decoder, instances
from tests.models.tagging.small_tagger import make as make_tagger

ALL = (0, 1, 2)
HEADS = ["softmax", "crf"]


def make(head="softmax", **options):
    """A tagger whose tags change from step to step."""
    model = make_tagger(
        seed=3, decoder=decoder(num_steps="length", **options), tag_head={"type": head}
    )
    with torch.no_grad():
        for parameter in model.decoder.parameters():
            parameter.mul_(3)
        model.tag_head.projection.weight.mul_(8)
        model.tag_head.projection.bias.zero_()
    return model


def answers(model, some=None):
    return model.forward_on_instances(some or instances(tags=False))


def assert_same(one, other):
    assert one["tags"] == other["tags"]
    numpy.testing.assert_allclose(one["probabilities"], other["probabilities"], atol=1e-5)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sketch_update": "single"},
        {"concat_input": False},
        {"attention": {"type": "easy_first"}},
    ],
)
def test_a_halted_sentence_has_the_tags_of_a_tagger_with_so_many_steps(head, options):
    model = make(head, **options)
    model.halting = SettledHalting(threshold=0.6)
    results = answers(model)
    steps = [result["steps"] for result in results]
    assert all(1 <= count <= length for count, length in zip(steps, LENGTHS))
    for index, (result, count) in enumerate(zip(results, steps)):
        assert_same(answers(model, instances(tags=False)[index : index + 1])[0], result)
        plain = make(head, **options)
        plain.decoder.num_steps = count
        assert_same(answers(plain)[index], result)


def test_a_sentence_that_halts_takes_part_in_no_further_step():
    class CountedHalting(SettledHalting):
        def halts(self, progress):
            sizes.append(len(progress.confidence))
            return super().halts(progress)

    model = make()
    assert "steps" not in answers(model)[0]
    model.halting = CountedHalting()
    sizes = []
    steps = [result["steps"] for result in answers(model)]
    assert steps[0] < LENGTHS[0]
    assert sizes == [sum(count > step for count in steps) for step in range(max(steps))]


@pytest.mark.parametrize("head", HEADS)
def test_the_trace_ends_where_the_sentence_halts(head):
    model = make(head)
    model.halting = SettledHalting()
    expected = answers(model)
    results = answers(model, instances(tags=False, attention=ALL, trace=ALL))
    for result, plain in zip(results, expected):
        assert result["steps"] == plain["steps"] == len(result["trace"].attention)
        assert len(result["attention"]) == result["steps"]
        assert result["trace"].provisional_tags[-1] == result["tags"]
        assert_same(result, plain)


def test_options_take_the_place_of_the_halting_of_the_model():
    model = make()
    model.halting = FixedHalting(2)
    wanted = [DecodeOptions(max_steps=4), DecodeOptions(), DecodeOptions(halting=FixedHalting())]
    some = [with_options(*pair) for pair in zip(instances(tags=False), wanted)]
    assert [result["steps"] for result in answers(model, some)] == [4, 1, 2]
    model.halting = None
    assert [result["steps"] for result in answers(model, some)] == [4, None, 2]


def test_gradients_of_a_prediction_are_those_of_the_last_step(monkeypatch):
    model = make().double()
    model.halting = SettledHalting()
    loss = model(**batch_of())["loss"]
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    with torch.no_grad():
        output = model(**batch_of())
    torch.testing.assert_close(output["loss"], loss)
    steps = torch.tensor(output["steps"])
    model.halting = None
    monkeypatch.setattr(model.decoder, "_steps_of", lambda mask: steps)
    expected = torch.autograd.grad(model(**batch_of())["loss"], list(model.parameters()))
    for one, other in zip(gradients, expected):
        torch.testing.assert_close(one, other)


def test_training_is_not_changed_and_scores_have_the_mean_steps():
    model = make()
    expected = model.train()(**batch_of())["loss"]
    model.get_metrics(reset=True)
    model.halting = FixedHalting(1)
    assert torch.equal(model(**batch_of())["loss"], expected)
    assert "mean_steps" not in model.get_metrics(reset=True)
    model.eval()(**batch_of())
    model.halting = FixedHalting(2)
    model(**batch_of())
    assert model.get_metrics(reset=True)["mean_steps"] == pytest.approx((3 * 1 + 5) / 6)
    assert "mean_steps" not in model.get_metrics()


@pytest.mark.parametrize("other, got", [(None, "none"), (label_attention(6), "label_attention")])
def test_a_halting_without_steps_is_an_error(other, got):
    with pytest.raises(ConfigurationError) as error:
        make_tagger(decoder=other, halting={"type": "settled"})
    assert f"halting: expected the decoder neural_easy_first, got {got}" in str(error.value)
