"""The decision that a translation needs no reviewer, on translations whose probabilities are known."""

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.calibration.acceptance import Segments, fit_probability, intervals
from allennlp_nef.modules.calibration import Acceptance

SCALE, BIAS = 1.5, 0.4


def known_segments(count, seed=0, documents=None):
    """Translations whose probability to be free of errors is that of `SCALE` and `BIAS`.

    Those of a document have the same number of expected errors, and all of them have errors, or none.
    """
    rng = numpy.random.default_rng(seed)
    groups = numpy.arange(count) if documents is None else rng.integers(0, documents, count)
    errors = numpy.exp(rng.normal(size=groups.max() + 1))
    probabilities = 1 / (1 + numpy.exp(SCALE * numpy.log(errors) - BIAS))
    is_error_free = rng.random(len(errors)) < probabilities
    order = numpy.argsort(errors[groups], kind="stable")
    return Segments(errors[groups][order], is_error_free[groups][order], groups[order])


def plain_limit(segments, name, value):
    """The limit that accepts most, by trying all."""
    best = None
    for limit in segments.errors:
        accepted = segments.is_error_free[segments.errors <= limit]
        if name == "precision" and len(accepted) >= 20 and accepted.mean() >= value:
            best = limit
        if name == "share" and best is None and len(accepted) >= value * len(segments.errors):
            best = limit
    return best


@pytest.mark.parametrize("wish", [("share", 0.3), ("share", 1.0), ("precision", 0.6)])
@pytest.mark.parametrize("documents", [None, 40])  # with 40, many translations have the same number
def test_limit_is_that_of_a_plain_search(wish, documents):
    for seed in range(5):
        segments = known_segments(300, seed, documents)
        limit = segments.limit(*wish)
        assert limit == plain_limit(segments, *wish)
        accepted = segments.is_error_free[segments.errors <= limit]
        expected = len(accepted) / 300, accepted.mean()
        assert segments.share_and_precision(limit) == pytest.approx(expected)


def test_precision_that_no_limit_reaches_has_none():
    segments = known_segments(300)
    share, best = segments.best_precision()
    assert share >= 20 / 300
    assert segments.limit("precision", best) is not None
    assert segments.limit("precision", best + 1e-6) is None
    assert segments.share_and_precision(None)[0] == 0


def test_fit_finds_scale_and_bias():
    assert fit_probability(known_segments(50_000)) == pytest.approx((SCALE, BIAS), abs=0.05)


def test_fit_is_finite_where_a_limit_tells_all_apart():
    segments = Segments(
        numpy.linspace(0.1, 5, 200), numpy.arange(200) < 100, numpy.arange(200, dtype=int)
    )
    scale, bias = fit_probability(segments)
    assert 1 < scale < 100
    assert numpy.isfinite(bias)


@pytest.mark.parametrize("documents", [None, 60])
def test_intervals_hold_for_other_data(documents, monkeypatch):
    """In 95% of the cases, whether translations depend on others of their document or not."""
    monkeypatch.setattr("allennlp_nef.calibration.acceptance.SAMPLES", 100)
    wishes = [("share", 0.4), ("precision", 0.7)]
    holds = []
    for seed in range(60):
        segments = known_segments(400, seed, documents)
        others = known_segments(400, 1000 + seed, documents)
        for wish, of_wish in zip(wishes, intervals(segments, wishes)):
            figures = others.share_and_precision(segments.limit(*wish))
            holds += [low <= value <= high for value, (low, high) in zip(figures, of_wish)]
    assert 0.87 <= numpy.mean(holds) <= 0.99


def test_precision_of_1_is_not_sure():
    """20 translations without an error: the interval is that of Clopper & Pearson, from 0.025 ** (1 / 20) on."""
    segments = Segments(
        numpy.linspace(0.1, 5, 200), numpy.arange(200) < 100, numpy.arange(200, dtype=int)
    )
    ((_, precision),) = intervals(segments, [("share", 0.1)])
    assert precision == pytest.approx((0.025 ** (1 / 20), 1))


def acceptance(**changes):
    shares = {"threshold": 0.5, "share": 0.5, "precision": 0.9}
    both = {"share_interval": [0.4, 0.6], "precision_interval": [0.8, 1.0]}
    return Acceptance(**{"scale": SCALE, "bias": BIAS, **shares, **both, **changes})


def test_probability_is_that_of_the_words():
    """With the scale and the bias of independent words it is close to the product of P(OK); padding does not count."""
    bad = torch.tensor([[0.5, 0.1, 0.0], [0.01, 0.9, 1.0], [1.0, 0.2, 0.3]])
    mask = torch.tensor([[True, True, True], [True, False, False], [True, True, True]])
    got = acceptance(scale=1.0, bias=0.0).probabilities(bad, mask)
    errors = [-numpy.log(0.5 * 0.9), -numpy.log(0.99), 1e6]
    assert got.tolist() == pytest.approx([1 / (1 + each) for each in errors], rel=1e-5)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"scale": float("nan")}, "acceptance: scale: expected a number from -1000 to 1000"),
        ({"threshold": 1.5}, "acceptance: threshold: expected numbers from 0 to 1, got"),
        ({"share_interval": [-1.0, 0.5]}, "acceptance: share_interval: expected numbers from 0"),
    ],
)
def test_wrong_options_are_errors(changes, message):
    with pytest.raises(ConfigurationError, match=message):
        acceptance(**changes)
