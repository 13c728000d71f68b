import numpy
import pytest
import torch
from allennlp.training.metrics import Metric
from scipy.stats import pearsonr, spearmanr

RNG = numpy.random.default_rng(0)
GOLD = RNG.random(35).round(1)
PREDICTED = (0.5 * GOLD + 0.3 * RNG.random(35)).round(2)


def batches():
    return [
        tuple(
            torch.tensor(each[start : start + 10], dtype=torch.float) for each in (PREDICTED, GOLD)
        )
        for start in range(0, 35, 10)
    ]


def expected_scores():
    return {
        "pearson": pearsonr(PREDICTED, GOLD)[0],
        "spearman": spearmanr(PREDICTED, GOLD)[0],
        "mae": numpy.abs(PREDICTED - GOLD).mean(),
        "rmse": numpy.sqrt(((PREDICTED - GOLD) ** 2).mean()),
    }


def make():
    return Metric.by_name("sentence_scores")()


def test_scores_are_those_of_all_batches():
    metric = make()
    for batch in batches():
        metric(*batch)
    scores = metric.get_metric(reset=True)
    assert scores == pytest.approx(expected_scores(), abs=1e-6)
    assert all(type(score) is float for score in scores.values())
    assert metric.get_metric() == {}


@pytest.mark.parametrize(
    "predicted, gold", [([0.5, 0.5], [0, 1]), ([0, 1], [0.5, 0.5]), ([1], [0.5])]
)
def test_a_correlation_with_equal_scores_is_0(predicted, gold):
    metric = make()
    metric(torch.tensor(predicted), torch.tensor(gold))
    scores = metric.get_metric()
    assert (scores["pearson"], scores["spearman"]) == (0, 0)
    assert scores["mae"] == scores["rmse"] == 0.5
