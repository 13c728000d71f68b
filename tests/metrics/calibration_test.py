"""The metrics of probabilities, against scikit-learn and plain loops."""

import numpy
import pytest
import torch
from sklearn.metrics import brier_score_loss, matthews_corrcoef

from allennlp_nef.metrics import BestThresholdWordQe, CalibrationMetric
from allennlp_nef.metrics.tag_scores import count_word_qe, word_qe_scores
from allennlp_nef.metrics.thresholds import best_threshold
from tests.metrics.word_qe_test import assert_python_floats, make, vocabulary

TAGS = ("NOUN", "VERB", "X")


def batches_of(seed, num_labels=2):
    """Batches (predictions, gold, mask, probabilities) of several shapes; some gold tags are unknown."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for shape in ((3, 7), (1, 1), (4, 12), (20, 50)):
        scores = 2 * torch.randn(*shape, num_labels, generator=generator)
        gold = torch.distributions.Categorical(logits=scores / 2).sample()
        gold[torch.rand(*shape, generator=generator) < 0.02] = -1
        mask = torch.rand(*shape, generator=generator) < 0.8
        batches.append((scores.argmax(-1), gold, mask, scores.softmax(-1)))
    return batches


def words_of(batches):
    return [torch.cat([batch[i][batch[2]] for batch in batches]).numpy() for i in (0, 1, 3)]


def slow_ece(confidence, is_right):
    total = 0.0
    for low in range(15):
        words = [i for i, p in enumerate(confidence) if low == min(int(15 * p), 14)]
        if words:
            total += abs(sum(float(confidence[i]) - is_right[i] for i in words))
    return total / len(confidence)


def counted(name, batches, labels=("OK", "BAD")):
    metric = make(name, vocabulary(*labels))
    for batch in batches:
        metric(*batch)
    return metric


def test_calibration_of_tags_is_that_of_the_predicted_tag():
    batches = batches_of(0, len(TAGS))
    metric = counted("calibration", batches, TAGS)
    assert isinstance(metric, CalibrationMetric)
    predicted, gold, table = words_of(batches)
    one_hot = numpy.eye(3)[gold] * (gold >= 0)[:, None]
    expected = {
        "ece": slow_ece(table[range(len(gold)), predicted], predicted == gold),
        "brier": ((table - one_hot) ** 2).sum(1).mean(),
    }
    assert (gold < 0).any()
    scores = metric.get_metric(reset=True)
    assert scores == pytest.approx(expected, rel=1e-5)
    assert_python_floats(scores)
    assert metric.get_metric() == {"ece": 0.0, "brier": 0.0}


def test_calibration_of_word_qe_is_that_of_bad():
    batches = batches_of(1)
    _, gold, table = words_of(batches)
    scores = counted("calibration", batches).get_metric()
    assert scores["ece"] == pytest.approx(slow_ece(table[:, 1], gold == 1), rel=1e-5)
    assert scores["brier"] == pytest.approx(brier_score_loss(gold == 1, table[:, 1]), rel=1e-5)


def brute_force(probabilities, is_bad, objective):
    """Every threshold between two probabilities: the best score, and the share that is tagged BAD."""
    values = sorted({0.0, 1.0, *map(float, probabilities)})
    found = []
    for a, b in zip(values, values[1:]):
        tags = ["BAD" if p >= (a + b) / 2 else "OK" for p in probabilities]
        gold = ["BAD" if bad else "OK" for bad in is_bad]
        found.append(word_qe_scores(count_word_qe(gold, tags))[objective])
    return max(found)


@pytest.mark.parametrize("objective", ["mcc", "f1_mult"])
@pytest.mark.parametrize("seed", range(3))
def test_best_threshold_is_that_of_trying_all(seed, objective):
    rng = numpy.random.default_rng(seed)
    probabilities = rng.random(60).round(1 if seed else 8)  # with ties
    is_bad = rng.random(60) < probabilities / 2
    found = best_threshold(probabilities, is_bad, objective)
    assert 0 < found.value < 1
    assert found.score == pytest.approx(brute_force(probabilities, is_bad, objective))
    is_tagged = probabilities >= found.value
    assert found.tagged_share == is_tagged.mean()
    if objective == "mcc":
        assert found.score == pytest.approx(matthews_corrcoef(is_bad, is_tagged))


@pytest.mark.parametrize("values", [[0.0, 0.0], [1.0, 1.0], [0.3], [0.0, 1.0]], ids=str)
def test_there_is_a_threshold_for_any_words(values):
    found = best_threshold(numpy.array(values), numpy.array(values) > 0.5)
    assert 0 < found.value < 1
    assert found.tagged_share == (numpy.array(values) >= found.value).mean()


def test_threshold_of_shares_has_the_best_expected_score():
    """Where words are BAD with these probabilities, as the mean over many draws shows."""
    probabilities = numpy.linspace(0.01, 0.6, 40)
    found = best_threshold(probabilities, probabilities, "f1_mult")
    repeated = numpy.repeat(probabilities, 10_000)
    drawn = numpy.random.default_rng(0).random(len(repeated)) < repeated
    assert best_threshold(repeated, drawn, "f1_mult").value == pytest.approx(found.value, abs=0.02)


def test_metric_of_the_best_threshold_agrees_with_the_exact_one():
    batches = batches_of(2)
    metric = counted("best_threshold_word_qe", batches)
    assert isinstance(metric, BestThresholdWordQe)
    _, gold, table = words_of(batches)
    scores = metric.get_metric(reset=True)
    assert_python_floats(scores)
    for objective in ("mcc", "f1_mult"):
        exact = best_threshold(table[:, 1], gold == 1, objective)
        assert scores[f"best_{objective}"] == pytest.approx(exact.score, abs=2e-3)
        threshold = scores[f"best_threshold_{objective}"]
        tags = ["BAD" if p >= threshold else "OK" for p in table[:, 1].tolist()]
        counts = count_word_qe(["BAD" if tag == 1 else "OK" for tag in gold], tags)
        assert scores[f"best_{objective}"] == pytest.approx(word_qe_scores(counts)[objective])
    assert set(metric.get_metric().values()) == {0.0}
