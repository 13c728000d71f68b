"""MPP, the match of error spans with partial overlap and partial credit."""

import json
from itertools import combinations, permutations
from pathlib import Path

import numpy
import pytest

from allennlp_nef.metrics.mpp import mpp_counts, mpp_scores

# What the authors' code prints, beside the checkout on some machines.
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "wmt_scores" / "mpp"
WEIGHTS = {"minor": 0.2, "major": 1.0}
VARIANTS = {
    "MPP default (one_to_one, optimal, micro)": {},
    "MPP many_to_many micro": {"many_to_many": True},
    "MPP one_to_one optimal micro, severity_penalty 0.5": {"severity_penalty": 0.5},
    "MPP one_to_one optimal micro, severity_penalty 1.0": {"severity_penalty": 1.0},
    "MPP many_to_many micro, severity_penalty 0.5": {"many_to_many": True, "severity_penalty": 0.5},
    "MPP one_to_one optimal micro, severity_weights minor 0.2 major 1": {
        "severity_weights": WEIGHTS
    },
    "MPP many_to_many micro, severity_weights minor 0.2 major 1": {
        "many_to_many": True,
        "severity_weights": WEIGHTS,
    },
}


def scores(gold, predicted, **options):
    return [
        float(score) for score in mpp_scores(numpy.array(mpp_counts(gold, predicted, **options)))
    ]


def random_spans(rng, number):
    starts = rng.integers(0, 12, number)
    return [
        (int(start), int(start + rng.integers(1, 9)), str(rng.choice(["minor", "major"])))
        for start in starts
    ]


def test_worth_of_some_matches():
    one, two = (4, 8, "minor"), (10, 14, "major")
    assert scores([one], [(6, 12, "minor")]) == pytest.approx([1 / 3, 1 / 2, 0.4])
    assert scores([one, two], []) == [1, 0, 0]
    assert scores([], [one]) == [0, 1, 0]
    assert scores([], []) == [1, 1, 1]
    assert scores([one], [one, one]) == pytest.approx([1 / 2, 1, 2 / 3])
    assert scores([(4, 8, "major")], [one], severity_penalty=0.5) == [0.5, 0.5, 0.5]
    assert scores([(4, 8, "major")], [one], severity_weights=WEIGHTS)[:2] == [1, 0.2]


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the figures of the authors' code")
def test_toy_scores_are_those_of_the_authors():
    toys = json.loads((REFERENCE / "expected.json").read_text())["toys"]
    toys = [toy for toy in toys.values() if "gold" in toy]
    assert len(toys) == 13
    for toy in toys:
        gold, predicted = ([tuple(span) for span in toy[side]] for side in ("gold", "predicted"))
        for name, options in VARIANTS.items():
            expected = [toy["scores"][name][part] for part in ("precision", "recall", "f")]
            assert scores(gold, predicted, **options) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"severity_penalty": 0.3}, {"severity_weights": WEIGHTS}])
def test_one_to_one_matching_is_the_best_of_all(options):
    rng = numpy.random.default_rng(0)
    weights = options.get("severity_weights", {"minor": 1, "major": 1})
    for _ in range(150):
        gold, predicted = (random_spans(rng, rng.integers(1, 5)) for _ in range(2))
        best = 0.0
        for size in range(1, min(len(gold), len(predicted)) + 1):
            for chosen in combinations(predicted, size):
                for partners in permutations(gold, size):
                    sums = [0.0, 0.0]
                    for p, g in zip(chosen, partners):
                        overlap = max(0, min(p[1], g[1]) - max(p[0], g[0]))
                        credit = min(weights[p[2]], weights[g[2]])
                        credit *= 1 - options.get("severity_penalty", 0) * (p[2] != g[2])
                        sums[0] += credit * overlap / (p[1] - p[0])
                        sums[1] += credit * overlap / (g[1] - g[0])
                    precision = sums[0] / sum(weights[p[2]] for p in predicted)
                    recall = sums[1] / sum(weights[g[2]] for g in gold)
                    if precision + recall:
                        best = max(best, 2 * precision * recall / (precision + recall))
        assert scores(gold, predicted, **options)[2] == pytest.approx(best)


@pytest.mark.parametrize("options", VARIANTS.values())
def test_scores_stay_in_bounds_and_swap_with_the_sides(options):
    rng = numpy.random.default_rng(1)
    for _ in range(100):
        gold, predicted = (random_spans(rng, rng.integers(1, 7)) for _ in range(2))
        precision, recall, f1 = scores(gold, predicted, **options)
        assert 0 <= f1 <= 1 + 1e-9 and precision <= 1 + 1e-9 and recall <= 1 + 1e-9
        swapped = scores(predicted, gold, **options)
        assert swapped[2] == pytest.approx(f1)
        assert scores(gold, gold, **options) == pytest.approx([1, 1, 1])


def test_many_spans_that_overlap_end_soon():
    rng = numpy.random.default_rng(2)
    gold, predicted = ([(int(i), 20 + int(i), "minor") for i in rng.permutation(20)] for _ in "ab")
    assert scores(gold, predicted)[2] > 0.9


@pytest.mark.parametrize(
    "options, message",
    [
        ({"severity_penalty": 1.5}, "severity_penalty: expected"),
        ({"severity_penalty": 0.5, "severity_weights": WEIGHTS}, "severity_penalty: expected"),
        ({"severity_weights": {"major": 1}}, "severity_weights: expected"),
        ({"severity_weights": {"minor": 0}}, "severity_weights: expected"),
    ],
)
def test_options_that_cannot_be_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        mpp_counts([(0, 1, "minor")], [], **options)
    with pytest.raises(ValueError, match="spans: expected a start before its end, got 1 to 1"):
        mpp_counts([(1, 1, "minor")], [])
