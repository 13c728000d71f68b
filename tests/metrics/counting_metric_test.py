"""Every metric counts in each process what the process has, and puts it together at the end of an epoch."""

import pytest
import torch
from allennlp.common import Lazy, Params
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric

from allennlp_nef.metrics import CountingMetric
from tests.processes import in_two_processes

CHUNKS = ("O", "B-A", "I-A", "B-B")
METRICS = {
    "best_threshold_word_qe": ("OK", "BAD"),
    "calibration": CHUNKS,
    "conlleval": CHUNKS,
    "sentence_scores": ("OK", "BAD"),
    "tag_accuracy": CHUNKS,
    "word_qe": ("OK", "BAD"),
}
BATCHES = 4


def make(name):
    """The metric as the model makes it, and its batches."""
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in METRICS[name]:
        vocab.add_token_to_namespace(label, "labels")
    lazy = Lazy(Metric, params=Params({"type": name}))
    metric = lazy.construct(vocab=vocab, label_namespace="labels")
    generator = torch.Generator().manual_seed(0)
    batches = []
    for size in range(1, BATCHES + 1):
        scores = torch.randn(size, 7, len(METRICS[name]), generator=generator)
        gold = (scores + torch.randn(scores.shape, generator=generator)).argmax(-1)
        mask = torch.rand(size, 7, generator=generator) < 0.8
        batch = (scores.argmax(-1), gold, mask, scores.softmax(-1))
        if name == "sentence_scores":
            batch = tuple(torch.rand(2, size, generator=generator))
        batches.append(batch if name in PROBABILITIES else batch[:3])
    return metric, batches


PROBABILITIES = ("best_threshold_word_qe", "calibration")


def scores_of(shares):
    """The scores of each metric with batches of a share of numbers, before and after; then those of none."""
    scores = {}
    for name in METRICS:
        metric, batches = make(name)
        for number in shares:
            metric(*batches[number])
        scores[name] = [metric.get_metric(), metric.get_metric(reset=True), metric.get_metric()]
    return scores


def scores_of_process(rank, shares):
    return [scores_of(share[rank]) for share in shares]


def test_processes_with_any_number_of_batches_have_the_scores_of_all(tmp_path):
    assert {*METRICS} == {
        name
        for name, (each, _) in Metric._registry[Metric].items()
        if issubclass(each, CountingMetric)
    }
    shares = [([0, 2], [1, 3]), ([0, 1, 2], [3]), ([], [0, 1, 2, 3])]
    expected = scores_of(range(BATCHES))
    assert all(score != 0 for each in expected.values() for score in each[1].values())
    results = in_two_processes(scores_of_process, tmp_path / "processes", shares)
    for rank, of_shares in enumerate(results):
        for share, of_metrics in zip(shares, of_shares):
            alone = scores_of(share[rank])
            for name, (before, together, after) in of_metrics.items():
                assert before == alone[name][0], name
                assert together == pytest.approx(expected[name][1], rel=1e-12), name
                assert after == expected[name][2], name
                assert all(type(score) is float for score in together.values())
