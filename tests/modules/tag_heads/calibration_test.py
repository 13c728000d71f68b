import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.formats.chunks import chunks_of
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_decoder import TagDecoder
from tests.modules.tag_heads.small_head import LABELS, batch_of, make


def test_probabilities_are_a_softmax_of_scaled_logarithms():
    table = torch.tensor([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).double()
    found = Calibration(2.0, {"B": 1.0}).apply(table, ["A", "B", "C"])
    powers = [0.7**0.5, 0.2**0.5 * math.e, 0.1**0.5]
    expected = [[power / sum(powers) for power in powers], [1, 0, 0], [0, 0, 0]]
    torch.testing.assert_close(found, torch.tensor(expected).double())


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_temperature_divides_the_scores_of_a_softmax(scale):
    head = make("softmax")
    states, mask, _ = batch_of([4, 2])
    expected = (head.scores(states) * scale).softmax(-1).masked_fill(~mask.unsqueeze(-1), 0)
    decoder = TagDecoder(head, Calibration(1 / scale))
    torch.testing.assert_close(decoder(head.scores(states), mask).probabilities, expected)


def test_probabilities_of_chunks_are_calibrated():
    """In a chain the probability of each tag, and of each next tag given the one before."""
    head = make("crf", labels=LABELS["BIO"], constraints="BIO").double()
    states, mask, _ = batch_of([5, 3])
    scores = head.scores(3 * states.double()).detach()
    tags = head.decode(scores, mask)
    before = head.chain_probabilities(scores, mask, tags)
    calibration = Calibration(1.5, {"O": -0.5})
    decoder = TagDecoder(head, calibration)
    after = decoder.chain_probabilities(scores, mask, tags)
    for plain, found in zip(before, after):
        torch.testing.assert_close(found, calibration.apply(plain, head.labels))
        assert ((plain == 0) == (found == 0)).all()  # what is forbidden stays so
        torch.testing.assert_close(found.sum(-1), plain.sum(-1))
    chunks = [chunks_of([head.labels[tag] for tag in row[kept]]) for row, kept in zip(tags, mask)]
    assert any(chunks)
    found, plain = (decoder.chunk_probabilities(x, mask, tags, chunks) for x in (after, before))
    assert found != plain
    assert torch.equal(decoder(scores, mask).tag_ids, tags)


def test_config_of_a_calibration_gives_it_again():
    options = {"temperature": 1.5, "biases": {"BAD": 0.5}, "threshold": 0.3, "objective": "mcc"}
    options.update(gold_share=0.2, tagged_share=0.3, base_rate={"OK": 0.6, "BAD": 0.4})
    calibration = Calibration.from_params(Params(dict(options)))
    assert calibration.to_json() == options
    assert Calibration().to_json() == {"temperature": 1.0, "biases": {}}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"temperature": math.nan}, "temperature: expected a number from 0.001 to 1000, got nan"),
        (
            {"biases": {"BAD": math.inf}},
            "biases: expected a number from -1000 to 1000 for 'BAD', got inf",
        ),
        ({"threshold": 1.0}, "threshold: expected a number above 0 and below 1, got 1.0"),
        ({"objective": "f1"}, "objective: expected mcc, f1_mult, span_f1, mpp, got 'f1'"),
        ({"tagged_share": 1.5}, "tagged_share: expected a number from 0 to 1, got 1.5"),
        ({"biases": {"B": 1.0}}, "expected labels among OK, BAD, GAP, got 'B'"),
        (
            {"threshold": 0.5},
            "threshold: expected the labels OK and BAD, or OK and severities, got OK, BAD, GAP",
        ),
    ],
    ids=str,
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ConfigurationError) as caught:
        TagDecoder(make("softmax"), Calibration(**options))
    assert caught.value.message == f"calibration: {message}"


@pytest.mark.parametrize("temperature", [0.001, 1000.0])
@pytest.mark.parametrize("bias", [-1000.0, 1000.0])
def test_extreme_calibrations_give_probabilities(temperature, bias):
    probabilities = torch.tensor([[1e-45, 1 - 1e-7, 1e-7], [1, 0, 0], [0.2, 0.3, 0.5]])
    calibration = Calibration(temperature, {"OK": bias})
    sums = calibration.apply(probabilities, ["OK", "BAD", "GAP"]).sum(-1)
    assert torch.allclose(sums, torch.ones(3))


@pytest.mark.parametrize("name, threshold", [("softmax", 0.5 / 2.5), ("crf", None)])
def test_threshold_of_a_head_is_that_of_its_tags(name, threshold):
    head = make(name, labels=("BAD", "OK"), label_weights={"BAD": 2.0, "OK": 0.5})
    decoder = TagDecoder(head)
    assert decoder.threshold == (threshold and pytest.approx(threshold))
    assert TagDecoder(make(name)).threshold is None  # other labels
    states, mask, _ = batch_of([40, 30])
    scores = head.scores(states)
    if threshold is not None:
        is_bad = head.probabilities(scores, mask)[..., 0] >= threshold
        assert torch.equal(head.decode(scores, mask)[mask] == 0, is_bad[mask])
    decoder.calibrate(Calibration(3.0, {"OK": 0.2}, threshold=0.4))
    tagging = decoder(scores, mask, [None, 0.9])
    tags, bad = tagging.tag_ids, tagging.probabilities[..., 0]
    assert decoder.threshold == 0.4
    assert torch.equal(tags[0, :40] == 0, bad[0, :40] >= 0.4)
    assert torch.equal(tags[1, :30] == 0, bad[1, :30] >= 0.9)
    assert (tags[~mask] == 0).all()
