import json
import os

import numpy
import pytest
import torch.distributed
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


def run_worker(rank, folder):
    """One of two processes: its half of the batches, then the scores to a file."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
    )
    metric = make()
    for batch in batches()[rank::2]:
        metric(*batch)
    (folder / f"{rank}.json").write_text(json.dumps(metric.get_metric()), encoding="utf-8")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def test_two_processes_both_know_the_scores_of_all_sentences(tmp_path):
    torch.multiprocessing.start_processes(
        run_worker, args=(tmp_path,), nprocs=2, start_method="fork"
    )
    for rank in (0, 1):
        scores = json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8"))
        assert scores == pytest.approx(expected_scores(), abs=1e-6)
