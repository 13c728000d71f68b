"""Tag heads whose labels are OK, minor and major."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.models.nef_tagger_ensemble import EnsembleTagHead
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_decoder import TagDecoder
from allennlp_nef.modules.tag_heads import CrfTagHead, SoftmaxTagHead
from tests.metrics.word_qe_test import vocabulary

LABELS = ("minor", "OK", "major")
OK = 1
MASK = torch.ones(1, 3, dtype=torch.bool)


def head_of(probabilities, kind=SoftmaxTagHead, labels=LABELS, **options):
    """A decoder, and the scores of its head for which words have these probabilities without label weights."""
    head = kind(4, vocabulary(*labels), **options)
    return TagDecoder(head), (torch.tensor([probabilities]).log() + head.label_weights.log())


PROBABILITIES = [[0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.2, 0.6, 0.2]]


def test_word_is_bad_where_the_severities_together_are_more_probable():
    # Not 0.5 for both: the tie would depend on how a machine rounds.
    decoder, scores = head_of([[0.3, 0.4, 0.3], [0.2, 0.49, 0.31], [0.2, 0.6, 0.2]])
    assert decoder.is_word_qe
    assert decoder.threshold == 0.5
    assert decoder.head.decode(scores, MASK).tolist() == [[0, 2, 1]]
    bad = decoder.bad_probabilities(decoder(scores, MASK).probabilities)
    torch.testing.assert_close(bad, torch.tensor([[0.6, 0.51, 0.4]]))


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_weights_move_the_threshold(weight):
    decoder, scores = head_of(PROBABILITIES, label_weights={"minor": weight, "major": weight})
    assert decoder.threshold == pytest.approx(1 / (1 + weight))
    bad = decoder.bad_probabilities(decoder(scores, MASK).probabilities)
    torch.testing.assert_close(bad, torch.tensor([[0.6, 0.5, 0.4]]))
    assert ((decoder.head.decode(scores, MASK) != OK) == (bad >= decoder.threshold)).all()
    other, scores = head_of(PROBABILITIES, label_weights={"minor": weight})
    assert other.threshold is None


@pytest.mark.parametrize("kind", [SoftmaxTagHead, CrfTagHead])
def test_threshold_decides_and_the_more_probable_severity_is_the_tag(kind):
    torch.manual_seed(0)
    decoder = TagDecoder(kind(4, vocabulary(*LABELS)))
    scores = torch.randn(5, 7, 3)
    mask = torch.arange(7) < torch.tensor([[7], [6], [3], [1], [0]])
    table = decoder(scores, mask).probabilities.float().detach()
    bad = decoder.bad_probabilities(table)
    for threshold in (0.3, 0.6, float(bad[0, 0]), 0.9):
        tags = decoder(scores, mask, [threshold] * 5).tag_ids
        severity = torch.where(table[..., 0] >= table[..., 2], 0, 2)
        expected = torch.where(bad.double() >= threshold, severity, torch.tensor(OK))
        assert (tags == expected.masked_fill(~mask, 0)).all()
    assert (decoder(scores, mask).tag_ids == decoder.head.decode(scores, mask)).all()


def test_calibration_has_a_threshold():
    decoder, scores = head_of(PROBABILITIES)
    decoder.calibrate(Calibration(biases={"minor": 1.0}))
    assert decoder.threshold is None
    decoder.calibrate(Calibration(threshold=0.55))
    assert decoder.threshold == 0.55
    assert decoder(scores, MASK).tag_ids.tolist() == [[0, OK, OK]]


@pytest.mark.parametrize(
    "labels", [("OK", "minor", "BAD"), ("minor", "major"), ("OK",), ("OK", "X")]
)
def test_other_labels_have_no_threshold(labels):
    decoder = TagDecoder(SoftmaxTagHead(4, vocabulary(*labels)))
    assert not decoder.is_word_qe
    assert decoder.threshold is None
    with pytest.raises(ConfigurationError, match="expected the labels OK and BAD, or OK and sever"):
        decoder.calibrate(Calibration(threshold=0.5))


def test_one_severity_is_like_bad():
    weights = {"label_weights": {"major": 5.0}}
    decoder, scores = head_of(
        [[0.9, 0.1], [0.7, 0.3], [0.1, 0.9]], labels=("OK", "major"), **weights
    )
    assert decoder.threshold == pytest.approx(1 / 6)
    assert decoder(scores, MASK).tag_ids.tolist() == [[0, 1, 1]]


def test_ensemble_has_the_more_probable_severity_of_the_mean():
    (one, first), (other, second) = head_of(PROBABILITIES), head_of(PROBABILITIES[::-1])
    other.calibrate(Calibration(threshold=0.52))
    decoder = TagDecoder(EnsembleTagHead([one, other], [0.75, 0.25], vocabulary(*LABELS)))
    scores = torch.stack([first, second], 2)
    # Of BAD: 0.55, 0.5 and 0.45, beside 0.75 * 0.5 + 0.25 * 0.52.
    assert decoder.threshold == pytest.approx(0.505)
    assert decoder.head.decode(scores, MASK).tolist() == [[0, OK, OK]]
    assert decoder(scores, MASK, [0.47]).tag_ids.tolist() == [[0, 2, OK]]
    mask = MASK & torch.tensor([[True, True, False]])
    assert decoder.head.decode(scores, mask).tolist() == [[0, OK, 0]]
