"""Tag heads whose labels are OK, minor and major."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.tag_heads import CrfTagHead, EnsembleTagHead, SoftmaxTagHead
from tests.metrics.word_qe_test import vocabulary

LABELS = ("minor", "OK", "major")
OK = 1
MASK = torch.ones(1, 3, dtype=torch.bool)


def head_of(probabilities, kind=SoftmaxTagHead, labels=LABELS, **options):
    """A head, and its scores for which words have these probabilities without label weights."""
    head = kind(4, vocabulary(*labels), **options)
    return head, (torch.tensor([probabilities]).log() + head.label_weights.log())


PROBABILITIES = [[0.3, 0.4, 0.3], [0.2, 0.5, 0.3], [0.2, 0.6, 0.2]]


def test_word_is_bad_where_the_severities_together_are_more_probable():
    head, scores = head_of(PROBABILITIES)
    assert head.is_word_qe
    assert head.threshold == 0.5
    assert head.decode(scores, MASK).tolist() == [[0, 2, 1]]
    bad = head.bad_probabilities(head.probabilities(scores, MASK))
    torch.testing.assert_close(bad, torch.tensor([[0.6, 0.5, 0.4]]))


@pytest.mark.parametrize("weight", [0.25, 3.0])
def test_weights_move_the_threshold(weight):
    head, scores = head_of(PROBABILITIES, label_weights={"minor": weight, "major": weight})
    assert head.threshold == pytest.approx(1 / (1 + weight))
    bad = head.bad_probabilities(head.probabilities(scores, MASK))
    torch.testing.assert_close(bad, torch.tensor([[0.6, 0.5, 0.4]]))
    assert ((head.decode(scores, MASK) != OK) == (bad >= head.threshold)).all()
    other, scores = head_of(PROBABILITIES, label_weights={"minor": weight})
    assert other.threshold is None


@pytest.mark.parametrize("kind", [SoftmaxTagHead, CrfTagHead])
def test_threshold_decides_and_the_more_probable_severity_is_the_tag(kind):
    torch.manual_seed(0)
    head = kind(4, vocabulary(*LABELS))
    scores = torch.randn(5, 7, 3)
    mask = torch.arange(7) < torch.tensor([[7], [6], [3], [1], [0]])
    table = head.probabilities(scores, mask).float().detach()
    bad = head.bad_probabilities(table)
    for threshold in (0.3, 0.6, float(bad[0, 0]), 0.9):
        tags = head.tags(scores, mask, [threshold] * 5)
        severity = torch.where(table[..., 0] >= table[..., 2], 0, 2)
        expected = torch.where(bad.double() >= threshold, severity, torch.tensor(OK))
        assert (tags == expected.masked_fill(~mask, 0)).all()
    assert (head.tags(scores, mask) == head.decode(scores, mask)).all()


def test_calibration_has_a_threshold():
    head, scores = head_of(PROBABILITIES)
    head.calibrate(Calibration(biases={"minor": 1.0}))
    assert head.threshold is None
    head.calibrate(Calibration(threshold=0.55))
    assert head.threshold == 0.55
    assert head.tags(scores, MASK).tolist() == [[0, OK, OK]]


@pytest.mark.parametrize(
    "labels", [("OK", "minor", "BAD"), ("minor", "major"), ("OK",), ("OK", "X")]
)
def test_other_labels_have_no_threshold(labels):
    head = SoftmaxTagHead(4, vocabulary(*labels))
    assert not head.is_word_qe
    assert head.threshold is None
    with pytest.raises(ConfigurationError, match="expected the labels OK and BAD, or OK and sever"):
        head.calibrate(Calibration(threshold=0.5))


def test_one_severity_is_like_bad():
    weights = {"label_weights": {"major": 5.0}}
    head, scores = head_of([[0.9, 0.1], [0.7, 0.3], [0.1, 0.9]], labels=("OK", "major"), **weights)
    assert head.threshold == pytest.approx(1 / 6)
    assert head.tags(scores, MASK).tolist() == [[0, 1, 1]]


def test_ensemble_has_the_more_probable_severity_of_the_mean():
    (one, first), (other, second) = head_of(PROBABILITIES), head_of(PROBABILITIES[::-1])
    other.calibrate(Calibration(threshold=0.52))
    head = EnsembleTagHead([one, other], [0.75, 0.25], vocabulary(*LABELS))
    scores = torch.stack([first, second], 2)
    # Of BAD: 0.55, 0.5 and 0.45, beside 0.75 * 0.5 + 0.25 * 0.52.
    assert head.threshold == pytest.approx(0.505)
    assert head.decode(scores, MASK).tolist() == [[0, OK, OK]]
    assert head.tags(scores, MASK, [0.47]).tolist() == [[0, 2, OK]]
    mask = MASK & torch.tensor([[True, True, False]])
    assert head.decode(scores, mask).tolist() == [[0, OK, 0]]
