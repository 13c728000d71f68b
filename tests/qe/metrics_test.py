"""The scores of quality estimation, against scikit-learn, SciPy and plain loops."""

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from scipy.stats import kendalltau, pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from allennlp_nef.metrics.correlations import CORRELATIONS
from allennlp_nef.metrics.sentence_scores import SentenceScores
from allennlp_nef.metrics.significance import compare
from allennlp_nef.qe.metrics import DetectionScores
from allennlp_nef.qe.scores import (
    SPANS,
    WORD_QE,
    best_threshold,
    calibration_bins,
    detection_scores,
    expected_calibration_error,
    expected_threshold,
    word_qe_scores,
)
from tests.metrics.small_metrics import make_batches, make_metric, words_of

RNG = numpy.random.default_rng(0)
NAMES = ["f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy"]
LENGTHS = RNG.integers(1, 12, 30).tolist()


def expected_word_scores(gold, predicted):
    """By scikit-learn, from bools: True = BAD."""
    f1 = f1_score(gold, predicted, labels=[False, True], average=None, zero_division=0)
    others = matthews_corrcoef(gold, predicted), accuracy_score(gold, predicted)
    return dict(zip(NAMES, (*f1, f1.prod(), *others)))


class TestWordScores:
    GOLD, PREDICTED = [["BAD", "OK"], ["OK", "BAD", "OK"]], [["BAD", "BAD"], ["OK", "OK", "OK"]]

    def test_counts_of_a_small_example(self):
        """F1-BAD = 2 * 1 / (2 + 2), F1-OK = 2 * 2 / (3 + 3), MCC = (1 * 2 - 1 * 1) / sqrt(2 * 2 * 3 * 3)."""
        counts = WORD_QE.count(self.GOLD, self.PREDICTED)
        assert counts.sentences.tolist() == [[1, 0, 1, 0], [0, 1, 0, 2]]
        assert counts.types == {"BAD": (1, 2, 2), "OK": (2, 3, 3)}
        expected = [2 / 3, 1 / 2, 1 / 3, 1 / 6, 0.6]
        scores = WORD_QE.scores(counts.sentences.sum(0))
        assert [scores[name] for name in NAMES] == pytest.approx(expected)

    def test_large_counts_do_not_overflow(self):
        n = 10**10
        scores = word_qe_scores([n, n, n, 2 * n])
        assert scores["mcc"] == pytest.approx(1 / 6) and scores["f1_bad"] == pytest.approx(0.5)

    @pytest.mark.parametrize("labels", [("OK", "BAD"), ("minor", "OK", "major"), ("OK",)])
    def test_metric_has_the_scores_of_scikit_learn(self, labels):
        """Over all batches together. Everything but OK is BAD, also a gold label that the vocabulary lacks."""
        metric, batches = make_metric("word_qe", *labels), make_batches(0, len(labels))
        for batch in batches:
            metric(*batch)
        predictions, gold, _ = words_of(batches)
        ok = labels.index("OK")
        scores = metric.get_metric(reset=True)
        assert scores == pytest.approx(expected_word_scores(gold != ok, predictions != ok))
        assert all(type(value) is float for value in scores.values())
        assert metric.get_metric() == {}

    @pytest.mark.parametrize("name", ["word_qe", "calibration", "best_threshold_word_qe"])
    def test_other_labels_are_errors(self, name):
        with pytest.raises(ConfigurationError):
            make_metric(name, "OK", "NOUN")


class TestSpans:
    LABELS = ["no-error", "minor", "major", "minor+major"]
    GOLD, PREDICTED = ([RNG.choice(labels, n).tolist() for n in LENGTHS] for labels in [LABELS] * 2)

    def test_scores_are_those_of_a_loop_over_characters(self):
        worth = gold = predicted = 0.0
        pairs = list(zip(sum(self.GOLD, []), sum(self.PREDICTED, [])))
        for one, other in pairs:
            gold += one != "no-error"
            predicted += other != "no-error"
            if "no-error" not in (one, other):
                worth += 1 if set(one.split("+")) & set(other.split("+")) else 0.5
        counts = SPANS.count(self.GOLD, self.PREDICTED)
        precision, recall = worth / predicted, worth / gold
        expected = [precision, recall, 2 * precision * recall / (precision + recall)]
        assert list(SPANS.scores(counts.sentences.sum(0)).values()) == pytest.approx(expected)
        assert counts.types["major"] == (
            sum("major" in one and "major" in other for one, other in pairs),
            sum("major" in other for _, other in pairs),
            sum("major" in one for one, _ in pairs),
        )


class TestCorrelations:
    GOLD = RNG.normal(size=(40, 1)).round(1)
    PREDICTED = 5 + 10 * (GOLD + RNG.normal(size=(40, 1)).round(1))

    def expected(self):
        x, y = self.GOLD[:, 0], self.PREDICTED[:, 0]
        return {
            "pearson": pearsonr(x, y)[0],
            "mae": numpy.abs(x - y).mean(),
            "rmse": numpy.sqrt(((x - y) ** 2).mean()),
            "spearman": spearmanr(x, y)[0],
        }

    def test_scores_are_those_of_scipy(self):
        counts = CORRELATIONS.count(self.GOLD, self.PREDICTED).sentences
        scores = {
            **CORRELATIONS.scores(counts.sum(0)),
            **CORRELATIONS.corpus_scores(self.GOLD, self.PREDICTED),
        }
        kendall = kendalltau(self.GOLD, self.PREDICTED)[0]
        assert scores == pytest.approx({**self.expected(), "kendall": kendall})

    def test_metric_has_the_scores_of_scipy(self):
        metric = make_metric("sentence_scores")
        for start in range(0, 40, 15):
            sides = (side[start : start + 15, 0] for side in (self.PREDICTED, self.GOLD))
            metric(*(torch.from_numpy(side) for side in sides))
        assert metric.get_metric() == {}  # too slow for each batch
        scores = metric.get_metric(reset=True)
        assert scores == pytest.approx(self.expected())
        assert all(type(value) is float for value in scores.values())
        assert metric.get_metric(reset=True) == {}

    @pytest.mark.parametrize("predicted, gold", [([1, 1], [0, 1]), ([0, 1], [1, 1])])
    def test_a_correlation_of_equal_scores_is_0(self, predicted, gold):
        metric = make_metric("sentence_scores")
        metric(torch.tensor(predicted).float(), torch.tensor(gold).float())
        scores = metric.get_metric(reset=True)
        assert scores["pearson"] == scores["spearman"] == 0
        assert scores["mae"] == numpy.abs(numpy.subtract(predicted, gold)).mean()

    def test_the_range_of_the_scores_does_not_matter_to_the_comparison(self):
        other = self.GOLD + numpy.random.default_rng(1).normal(size=(40, 1))
        results = []
        for factor in (1, 1000):
            counts = [
                CORRELATIONS.count(self.GOLD, y).sentences for y in (self.GOLD, factor * other)
            ]
            results.append(compare(*counts, lambda sums: CORRELATIONS.scores(sums)["pearson"], 200))
        assert results[0] == pytest.approx(results[1])
        assert results[0].p_value < 0.05


def all_thresholds(probabilities, is_bad, objective):
    """The best score of all thresholds between two probabilities."""
    values = sorted({0.0, 1.0, *map(float, probabilities)})
    found = []
    for a, b in zip(values, values[1:]):
        tagged = probabilities >= (a + b) / 2
        counts = [(g & p).sum() for g in (is_bad, ~is_bad) for p in (tagged, ~tagged)]
        found.append(word_qe_scores(counts)[objective])
    return max(found)


class TestThreshold:
    @pytest.mark.parametrize("objective", ["mcc", "f1_mult"])
    @pytest.mark.parametrize("seed", range(3))
    def test_best_threshold_is_that_of_trying_all(self, seed, objective):
        rng = numpy.random.default_rng(seed)
        probabilities = rng.random(60).round(1 if seed else 8)  # with ties
        is_bad = rng.random(60) < probabilities / 2
        threshold, score = best_threshold(probabilities, is_bad, objective)
        assert 0 < threshold < 1
        assert score == pytest.approx(all_thresholds(probabilities, is_bad, objective))
        tagged = probabilities >= threshold
        assert score == pytest.approx(expected_word_scores(is_bad, tagged)[objective])

    @pytest.mark.parametrize("values", [[0.0, 0.0], [1.0, 1.0], [0.3], [0.0, 1.0]], ids=str)
    def test_there_is_a_threshold_for_any_words(self, values):
        threshold, _ = best_threshold(numpy.array(values), numpy.array(values) > 0.5)
        assert 0 < threshold < 1

    @pytest.mark.parametrize("labels", [("OK", "BAD"), ("minor", "OK", "major")])
    def test_metric_is_exact(self, labels):
        metric, batches = (
            make_metric("best_threshold_word_qe", *labels),
            make_batches(2, len(labels)),
        )
        for batch in batches:
            metric(*batch)
        _, gold, table = words_of(batches)
        ok = labels.index("OK")
        threshold, mcc = best_threshold(1 - table[:, ok], gold != ok)
        assert metric.get_metric() == {}  # too slow for each batch
        scores = metric.get_metric(reset=True)
        adaptive = expected_threshold(1 - table[:, ok])
        expected = {
            "best_mcc": mcc,
            "best_threshold": threshold,
            "adaptive_mcc": matthews_corrcoef(gold != ok, 1 - table[:, ok] >= adaptive),
            "adaptive_threshold": adaptive,
        }
        assert scores == pytest.approx(expected)
        assert metric.get_metric(reset=True) == {}


class TestCalibration:
    def slow_ece(self, probabilities, happened):
        total = 0.0
        for low in range(15):
            words = [i for i, p in enumerate(probabilities) if low == min(int(15 * p), 14)]
            total += abs(sum(probabilities[i] - happened[i] for i in words))
        return total / len(probabilities)

    def test_ece_is_that_of_a_loop_over_bins(self):
        probabilities = numpy.concatenate([RNG.random(300), [0.0, 1.0]])
        happened = RNG.random(302) < probabilities**2
        bins = calibration_bins(probabilities, happened)
        assert bins[2].sum() == 302
        expected = self.slow_ece(probabilities, happened)
        assert expected_calibration_error(bins) == pytest.approx(expected)

    def test_metric_is_that_of_the_probability_of_bad(self):
        metric, batches = make_metric("calibration", "minor", "OK", "major"), make_batches(1, 3)
        for batch in batches:
            metric(*batch)
        _, gold, table = words_of(batches)
        expected = self.slow_ece(1 - table[:, 1], gold != 1)
        assert metric.get_metric(reset=True) == pytest.approx({"ece": expected})


class TestDetectionScores:
    def test_auc_is_the_share_of_ordered_pairs(self):
        rng = numpy.random.default_rng(0)
        happened, probabilities = rng.random(60) < 0.4, rng.integers(0, 9, 60) / 8
        pairs = [
            (a > b) + (a == b) / 2
            for a in probabilities[happened]
            for b in probabilities[~happened]
        ]
        scores = detection_scores(probabilities, happened, 0.5)
        assert scores["auc"] == pytest.approx(numpy.mean(pairs))
        assert -1 < scores["mcc"] < 1

    @pytest.mark.parametrize("happened", [[True, True], [False, False], []])
    def test_one_class_has_no_order(self, happened):
        happened = numpy.array(happened, dtype=bool)
        scores = detection_scores(numpy.linspace(0, 1, len(happened)), happened, 0.5)
        assert (scores["auc"], scores["mcc"]) == (0.5, 0)


@pytest.mark.parametrize("metric", [DetectionScores(0.5), SentenceScores()])
def test_data_without_gold_scores_have_no_scores(metric):
    metric(torch.zeros(0), torch.zeros(0))
    assert metric.get_metric(reset=True) == {}
    metric(torch.tensor([0.2, 0.7]), torch.tensor([0.0, 1.0]))
    assert metric.get_metric(reset=True)
