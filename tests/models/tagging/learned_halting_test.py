"""`halting_rate`, an option of the decoder, and the halting `learned`."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.modules.halting import (
    ConfidentHalting,
    FixedHalting,
    LearnedHalting,
    LearnedHaltingHead,
    geometric_log_prior,
    halting_divergence,
    halting_log_probabilities,
)
from allennlp_nef.modules.step_loss import StepLoss
from tests.models.tagging.small_tagger import LENGTHS, batch_of, decoder, instances
from tests.models.tagging.small_tagger import make as make_tagger

COUNTS = torch.tensor([4, 1, 2])


def make(head="softmax", step_loss=None, **options):
    options = {"num_steps": "length", "halting_rate": 0.3, **options}
    return make_tagger(
        seed=3,
        decoder=decoder(**options),
        tag_head={"type": head},
        step_loss={"steps": "all"} if step_loss is None else step_loss,
    )


def cross_entropies(output):
    """Of each sentence's words under softmax(emissions)."""
    mask = output["mask"]
    log_p = output["scores"].log_softmax(-1).gather(-1, batch_of()["tags"].unsqueeze(-1))
    return -log_p.squeeze(-1).masked_fill(~mask, 0).sum(-1)


def test_the_distribution_is_that_of_the_formula_and_sums_to_1():
    torch.manual_seed(0)
    logits = torch.randn(3, 4, dtype=torch.double)
    found = halting_log_probabilities(logits, COUNTS).exp()
    for row, count in enumerate(COUNTS.tolist()):
        left, expected = 1.0, []
        for rate in logits[row, : count - 1].sigmoid().tolist():
            expected.append(left * rate)
            left *= 1 - rate
        assert found[row, :count].tolist() == pytest.approx([*expected, left])


def test_the_divergence_is_0_at_the_prior_and_positive_elsewhere():
    prior = geometric_log_prior(0.3, COUNTS, 4, torch.double)
    assert prior[0].exp().sum().item() == pytest.approx(1)
    torch.testing.assert_close(halting_divergence(prior, COUNTS, 0.3), torch.zeros(3).double())
    other = halting_log_probabilities(torch.full((3, 4), 2.0), COUNTS)
    divergence = halting_divergence(other, COUNTS, 0.3)
    assert divergence[0] > 0.1 and divergence[1] == 0 and divergence[2] > 0.1


def test_gradients_of_the_distribution_and_the_divergence():
    logits = torch.randn(3, 4, dtype=torch.double, requires_grad=True)

    def loss(values):
        log_p = halting_log_probabilities(values, COUNTS)
        return halting_divergence(log_p, COUNTS, 0.3).sum() + (log_p.exp()[:, 0] ** 2).sum()

    assert torch.autograd.gradcheck(loss, (logits,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_padding_of_nan_does_not_change_the_logits(dtype):
    head = LearnedHaltingHead(2, 0.3)
    torch.nn.init.ones_(head.weight)
    sketches = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [math.nan, math.nan]]], dtype=dtype)
    logits = head(sketches, torch.tensor([[True, True, False]]))
    assert logits.dtype == torch.float32
    assert logits.item() == pytest.approx(5 + math.log(0.3 / 0.7), abs=1e-5)


@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_the_training_loss_is_the_expected_loss_and_reaches_every_parameter(head):
    model = make(head).train().double()
    loss = model(**batch_of())["loss"]
    loss.backward()
    assert torch.isfinite(loss)
    assert model.decoder.halting.weight.grad.abs().sum() > 0
    assert model.decoder.halting.bias.grad.abs() > 0
    with torch.no_grad():  # always at the last step: the plain loss, but for the KL
        model.decoder.halting.bias.fill_(-60)
        model.step_loss = StepLoss(halting_penalty=1e-12)
        last = model(**batch_of())["loss"]
        output = model.eval()(**batch_of())
        expected = output["loss"]
        if head == "crf":  # the cross entropies at the last step are added
            expected = expected + cross_entropies(output).mean()
        torch.testing.assert_close(last, expected)


@pytest.mark.parametrize("min_share", [0, 1.1])
@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_the_training_loss_is_that_of_the_formula(head, min_share, monkeypatch):
    monkeypatch.setattr("allennlp_nef.modules.step_loss.MIN_SHARE", min_share)
    model = make(head, step_loss={"halting_penalty": 0.5}).double()
    with torch.no_grad():
        model.decoder.halting.bias.fill_(math.log(0.6 / 0.4))
    found = model.train()(**batch_of())["loss"].item()
    model.eval()
    expected = model(**batch_of())["loss"].item() * len(LENGTHS) if head == "crf" else 0.0
    for step in range(max(LENGTHS)):
        model.halting = FixedHalting(step + 1)
        losses = cross_entropies(model(**batch_of())).tolist()
        for length, loss in zip(LENGTHS, losses):
            if step < length:
                rate = 0.6 * 0.4**step if step < length - 1 else 0.4**step
                prior = 0.3 * 0.7**step / (1 - 0.7**length)
                expected += rate * (loss + 0.5 * math.log(rate / prior))
    assert found == pytest.approx(expected / len(LENGTHS))


def test_a_sentence_halts_where_the_cumulative_probability_passes_the_threshold():
    model = make()
    for threshold, expected in ((0.2, 1), (0.5, 2), (0.6, 3), (0.7, 4)):
        model.halting = LearnedHalting(threshold)  # 0.3, 0.51, 0.657, 0.76
        for some in (instances(tags=False), instances(tags=False)[:1]):
            results = model.forward_on_instances(some)
            assert [each["steps"] for each in results] == [
                min(expected, length) for length in LENGTHS[: len(some)]
            ]
    model.halting = LearnedHalting(0.7, max_steps=2)
    assert max(each["steps"] for each in model.forward_on_instances(instances(tags=False))) == 2


def test_options_that_do_not_go_together_are_errors():
    with pytest.raises(ConfigurationError, match="halting_rate: expected the option step_loss"):
        make_tagger(decoder=decoder(num_steps="length", halting_rate=0.3))
    with pytest.raises(ConfigurationError, match='the steps "all" and no weight .* got "drawn"'):
        make(step_loss={"steps": "drawn"})
    with pytest.raises(ConfigurationError, match="halting_penalty: expected a decoder with"):
        make(step_loss={"halting_penalty": 0.1}, halting_rate=None)
    with pytest.raises(ConfigurationError, match="halting: learned: expected a decoder trained"):
        make_tagger(decoder=decoder(num_steps="length"), halting={"type": "learned"})
    with pytest.raises(ConfigurationError, match="halting_rate: expected a number between 0 and 1"):
        make(halting_rate=1.0)
    assert LearnedHalting(0.5) != ConfidentHalting(0.5)


def test_another_model_than_the_tagger_cannot_learn_it():
    options = decoder(num_steps="length", halting_rate=0.3)
    encoder = Seq2SeqEncoder.from_params(Params(options)).train()
    with pytest.raises(ConfigurationError, match="halting_rate: expected it in the decoder of"):
        encoder(torch.zeros(1, 2, 6))
