"""Each process counts its own data; with the reset, the scores are those of all processes."""

import pytest

from tests.metrics.small_metrics import make_batches, make_metric
from tests.processes import in_two_processes

CHUNKS, QE = ("O", "B-A", "I-A", "B-B"), ("OK", "BAD")
LABELS = {
    "conlleval": CHUNKS,
    "tag_accuracy": CHUNKS,
    "word_qe": QE,
    "best_threshold_word_qe": QE,
    "calibration": QE,
    "sentence_scores": QE,
}


def scores_of(name, numbers):
    """The scores of some batches, before and with the reset, and after it."""
    labels = LABELS[name]
    metric = make_metric(name, *labels)
    for number, (table, gold, mask) in enumerate(make_batches(0, len(labels))):
        if number not in numbers:
            continue
        if name == "conlleval":
            sides = table.argmax(-1), gold
            metric(*([[labels[tag] for tag in row] for row in side] for side in sides))
        elif name == "sentence_scores":
            metric(table[:, 0, 0], gold[:, 0])
        else:
            metric(table, gold, mask)
    return [metric.get_metric(), metric.get_metric(reset=True), metric.get_metric()]


def scores_of_process(rank, name, shares):
    return [scores_of(name, share[rank]) for share in shares]


@pytest.mark.parametrize("name", LABELS)
def test_processes_may_have_different_numbers_of_batches(name, tmp_path):
    shares = [([0, 2], [1, 3]), ([0, 1, 2], [3]), ([], [0, 1, 2, 3])]
    expected = scores_of(name, range(4))
    results = in_two_processes(scores_of_process, tmp_path / "processes", name, shares)
    for rank, of_shares in enumerate(results):
        for share, (before, together, after) in zip(shares, of_shares):
            assert before == scores_of(name, share[rank])[0]
            assert together == pytest.approx(expected[1], rel=1e-9)
            assert after == expected[2]
