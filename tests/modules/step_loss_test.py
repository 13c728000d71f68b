"""The loss at the steps before the last one, against a plain sum over the sentences and their steps."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from torch.nn import functional

from allennlp_nef.modules import step_loss
from allennlp_nef.modules.step_loss import StepLoss
from tests.models.tagging.small_tagger import LENGTHS, batch_of, decoder, instances, lstm, make

HEADS = [{"type": "softmax", "label_weights": {"BAD": 3}}, {"type": "crf"}]


def tagger(head, **options):
    """In float64, in training, with attention that is far from uniform."""
    model = make(decoder=decoder(**options), tag_head=head).double().train()
    with torch.no_grad():
        for parameter in model.decoder.parameters():
            parameter.mul_(2).add_(0.1)
    return model


def plain_losses(model, num_steps):
    """The loss of each sentence after each of its steps, from a decoder with as many steps."""
    batch = batch_of()
    rows = []
    for index, length in enumerate(LENGTHS):
        losses = []
        for steps in range(1, min(length, num_steps) + 1):
            model.decoder.num_steps = steps
            scores = model(**batch_of())["scores"][index, :length]
            tags = batch["tags"][index, :length]
            if steps == min(length, num_steps):
                mask = torch.ones(1, length, dtype=torch.bool)
                losses.append(model.tag_head.sentence_losses(scores[None], mask, tags[None])[0])
            else:
                weight = model.tag_head.label_weights.double()
                losses.append(
                    functional.cross_entropy(scores, tags, weight, reduction="none").sum()
                )
        rows.append(losses)
    return rows


@pytest.mark.parametrize("head", HEADS, ids=["softmax", "crf"])
@pytest.mark.parametrize("update", ["full", "single"])
# 9: more than any sentence has words. All pairs of sentences and steps are taken, or those that there are.
@pytest.mark.parametrize("steps, min_share", [(3, 0), (9, 0), (9, 1.1)])
def test_loss_is_the_plain_sum_over_the_steps(head, update, steps, min_share, monkeypatch):
    monkeypatch.setattr(step_loss, "MIN_SHARE", min_share)
    options = {"sketch_update": update, "num_steps": steps}
    model = tagger(head, **options)
    model.step_loss = StepLoss(weight=0.7)
    loss = model(**batch_of())["loss"]
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]

    plain = tagger(head, **options).eval()
    expected = 0
    for losses in plain_losses(plain, steps):
        expected = expected + losses[-1] / len(LENGTHS)
        for each in losses[:-1]:
            expected = expected + 0.7 * each / (len(losses) - 1) / len(LENGTHS)
    torch.testing.assert_close(loss, expected)
    expected.backward()
    for ours, parameter in zip(gradients, plain.parameters()):
        torch.testing.assert_close(ours, parameter.grad)


@pytest.mark.parametrize("head", HEADS, ids=["softmax", "crf"])
def test_drawn_steps_have_the_same_loss_on_average(head):
    model = tagger(head)
    model.step_loss = StepLoss("drawn")
    torch.manual_seed(0)
    losses = {round(model(**batch_of())["loss"].item(), 9) for _ in range(50)}
    model.step_loss = StepLoss("all")
    # Sentences of 3, 1 and 2 steps: one has two steps to draw from, the others have at most one.
    assert len(losses) == 2
    assert sum(losses) / 2 == pytest.approx(model(**batch_of())["loss"].item())


def test_weights_of_sentences_count_in_the_step_loss():
    model = tagger(HEADS[0])
    losses = []
    for weight in (1.0, 3.0):
        some = instances()
        some[0]["metadata"].metadata.weight = weight
        model.step_loss = None
        plain = model(**batch_of(some))["loss"]
        model.step_loss = StepLoss()
        losses.append((model(**batch_of(some))["loss"] - plain).item())
    model.step_loss = None
    first, last = batch_of(instances()[:1]), batch_of(instances()[2:])
    parts = []
    for batch in (first, last):
        model.step_loss = None
        plain = model(**batch)["loss"]
        model.step_loss = StepLoss()
        parts.append((model(**batch)["loss"] - plain).item())
    assert losses == pytest.approx([sum(parts) / 3, (3 * parts[0] + parts[1]) / 3])


def test_padding_does_not_change_the_step_loss():
    model = tagger(HEADS[0])
    output, trace = model.decoder.encode(torch.randn(2, 4, 6).double(), trace=True)
    scores = model.tag_head.scores(output)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    tags = torch.zeros(2, 4, dtype=torch.long)
    expected = StepLoss().total(trace, model.tag_head, scores, mask, tags)
    trace.sketches[1, :, 2:] = float("nan")
    assert torch.equal(StepLoss().total(trace, model.tag_head, scores, mask, tags), expected)


def test_one_word_and_validation_have_the_loss_of_the_last_step():
    model = tagger(HEADS[1])
    word = batch_of(instances()[1:2])
    plain = model(**word)["loss"]
    validation = model.eval()(**batch_of())["loss"]
    for steps in ("all", "drawn"):
        model.step_loss = StepLoss(steps)
        assert torch.equal(model.train()(**word)["loss"], plain)
        assert torch.equal(model.eval()(**batch_of())["loss"], validation)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"step_loss": {"steps": "some"}}, 'steps: expected "all" or "drawn", got \'some\''),
        ({"step_loss": {"weight": 0}}, "weight: expected a number above 0, got 0"),
        (
            {"step_loss": {}, "decoder": None},
            "step_loss: expected the decoder neural_easy_first, got none",
        ),
        ({"step_loss": {}, "decoder": lstm(6)}, "expected the decoder neural_easy_first, got lstm"),
        ({"step_loss": {}, "decoder": decoder(num_steps=1)}, "num_steps of 2 or more, got 1"),
    ],
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(ConfigurationError) as error:
        make(**{"decoder": decoder(), **options})
    assert message in str(error.value)
