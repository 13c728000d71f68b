"""The scores of error spans, explanations and sentences, against slow and plain versions."""

import numpy
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.wmt_scores import CORRELATIONS, EXPLANATIONS, SPANS

RNG = numpy.random.default_rng(0)
SENTENCES = [int(n) for n in RNG.integers(1, 12, 30)]


class TestSpans:
    LABELS = ["no-error", "minor", "major", "minor+major"]
    GOLD, PREDICTED = (
        [RNG.choice(LABELS, n).tolist() for n in SENTENCES] for LABELS in [LABELS] * 2
    )

    def test_scores_are_those_of_a_loop_over_characters(self):
        worth = gold = predicted = 0.0
        for one, other in zip(sum(self.GOLD, []), sum(self.PREDICTED, [])):
            gold += one != "no-error"
            predicted += other != "no-error"
            if "no-error" not in (one, other):
                worth += 1 if set(one.split("+")) & set(other.split("+")) else 0.5
        counts = SPANS.count(self.GOLD, self.PREDICTED)
        precision, recall = worth / predicted, worth / gold
        expected = [precision, recall, 2 * precision * recall / (precision + recall)]
        assert list(SPANS.scores(counts.sentences.sum(0)).values()) == pytest.approx(expected)
        flat = list(zip(sum(self.GOLD, []), sum(self.PREDICTED, [])))
        assert counts.types["major"] == (
            sum("major" in one and "major" in other for one, other in flat),
            sum("major" in other for _, other in flat),
            sum("major" in one for one, _ in flat),
        )

    def test_nothing_predicted_scores_zero(self):
        counts = SPANS.count([["major", "no-error"]], [["no-error"] * 2]).sentences.sum(0)
        assert SPANS.scores(counts) == {"precision": 0, "recall": 0, "f1": 0}


class TestExplanations:
    GOLD = [RNG.choice(["OK", "BAD"], n).tolist() for n in SENTENCES]
    # Few values, for ties.
    PREDICTED = [RNG.integers(0, 4, n).tolist() for n in SENTENCES]

    def test_auc_and_average_precision_are_those_of_all_pairs(self):
        """AUC: how many pairs of a BAD and an OK word are in order. AP: precision at each BAD word, of a whole tie."""
        auc, precision = [], []
        for tags, scores in zip(self.GOLD, self.PREDICTED):
            bad = [s for t, s in zip(tags, scores) if t == "BAD"]
            ok = [s for t, s in zip(tags, scores) if t == "OK"]
            if bad and ok:
                auc.append(numpy.mean([(b > o) + 0.5 * (b == o) for b in bad for o in ok]))
                at = [(sum(x >= b for x in bad), sum(x >= b for x in scores)) for b in bad]
                precision.append(numpy.mean([hits / found for hits, found in at]))
        counts = EXPLANATIONS.count(self.GOLD, self.PREDICTED).sentences.sum(0)
        assert counts[-1] == len(auc) < len(SENTENCES)
        scores = EXPLANATIONS.scores(counts)
        assert scores["auc"] == pytest.approx(numpy.mean(auc))
        assert scores["average_precision"] == pytest.approx(numpy.mean(precision))

    def test_recall_is_among_as_many_words_as_are_bad(self):
        gold = [["BAD", "OK", "BAD", "OK"], ["OK", "BAD"], ["OK"], ["BAD"]]
        predicted = [[0.9, 0.8, 0.1, 0.2], [0.2, 0.3], [1], [0]]
        scores = EXPLANATIONS.scores(EXPLANATIONS.count(gold, predicted).sentences.sum(0))
        assert scores["recall_at_k"] == 0.75


class TestCorrelations:
    GOLD = RNG.normal(size=(40, 1)).round(1)
    PREDICTED = 5 + 10 * (GOLD + RNG.normal(size=(40, 1)).round(1))

    def test_scores_are_those_of_scipy(self):
        x, y = self.GOLD[:, 0], self.PREDICTED[:, 0]
        counts = CORRELATIONS.count(self.GOLD, self.PREDICTED).sentences
        errors = {"mae": numpy.abs(x - y).mean(), "rmse": numpy.sqrt(((x - y) ** 2).mean())}
        sums = CORRELATIONS.scores(counts.sum(0))
        assert sums == pytest.approx({"pearson": pearsonr(x, y)[0], **errors})
        rest = CORRELATIONS.whole(self.GOLD, self.PREDICTED)
        expected = {"spearman": spearmanr(x, y)[0], "kendall": kendalltau(x, y)[0]}
        assert rest == pytest.approx(expected)

    @pytest.mark.parametrize("factor", [1e307, 1e-319])
    def test_very_large_and_very_small_scores_correlate(self, factor):
        counts = CORRELATIONS.count(self.GOLD, factor * self.GOLD).sentences
        assert CORRELATIONS.scores(counts.sum(0))["pearson"] == pytest.approx(1, abs=0.01)

    def test_the_range_of_the_scores_does_not_matter_to_the_comparison(self):
        def p_value(factor):
            other = self.GOLD + RNG_2.normal(size=(40, 1))
            counts = [
                CORRELATIONS.count(self.GOLD, y).sentences for y in (self.GOLD, factor * other)
            ]
            return compare(*counts, lambda sums: CORRELATIONS.scores(sums)["pearson"], 200)

        results = []
        for factor in (1, 1000):
            RNG_2 = numpy.random.default_rng(1)
            results.append(p_value(factor))
        assert results[0] == pytest.approx(results[1])
        assert results[0].p_value < 0.05
