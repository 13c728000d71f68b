"""Metrics of word-level quality estimation with the labels OK, minor and major, and the threshold of error spans."""

import numpy
import pytest
import torch

from allennlp_nef.data.formats.characters import split_on_whitespace
from allennlp_nef.data.formats.error_spans import ErrorSpan, join_bad_words, severities_of
from allennlp_nef.metrics.thresholds import SpanParts
from allennlp_nef.metrics.wmt_scores import count_spans, span_scores
from tests.metrics.word_qe_test import make, vocabulary

NAMES = ("word_qe", "best_threshold_word_qe", "calibration")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [("OK", "minor", "major"), ("major", "OK", "minor")])
def test_scores_are_those_of_ok_and_bad(name, order):
    generator = torch.Generator().manual_seed(0)
    ok = order.index("OK")
    severe, plain = make(name, vocabulary(*order)), make(name, vocabulary("OK", "BAD"))
    for shape in ((3, 7), (1, 1), (20, 9)):
        table = torch.randn(*shape, 3, generator=generator, dtype=torch.double).softmax(-1)
        gold = torch.randint(-1, 3, shape, generator=generator)  # -1: an unknown label
        tags, mask = table.argmax(-1), torch.rand(*shape, generator=generator) < 0.8
        bad = 1 - table[..., ok]
        extra = (
            [] if name == "word_qe" else [table],
            [] if name == "word_qe" else [torch.stack([1 - bad, bad], -1)],
        )
        severe(tags, gold, mask, *extra[0])
        plain((tags != ok).long(), (gold != ok).long(), mask, *extra[1])
    scores = severe.get_metric()
    assert scores == pytest.approx(plain.get_metric())
    assert any(scores.values())


def test_threshold_of_spans_is_the_best_of_all():
    """Against a plain search with the scores of `score-tags`; the parts are those of `calibrate`."""
    rng = numpy.random.default_rng(0)
    split = split_on_whitespace("ab  c de f ghi jk")
    for _ in range(20):
        probabilities = rng.integers(1, 9, len(split.words)) / 10
        severities = rng.choice(["minor", "major"], len(split.words)).tolist()
        start, end = sorted(rng.integers(0, len(split.text), 2).tolist())
        gold = severities_of(
            split.text, [ErrorSpan(start, end, "major"), ErrorSpan(end, end + 1, "minor")]
        )

        def f1_at(threshold, probabilities=probabilities, severities=severities, gold=gold):
            chosen = [
                severity if p >= threshold else None
                for severity, p in zip(severities, probabilities)
            ]
            found = join_bad_words(split, chosen, probabilities.tolist())
            spans = [ErrorSpan(span.start, span.end, span.severity) for span in found]
            counts = count_spans([gold], [severities_of(split.text, spans)]).sentences
            return float(span_scores(counts.sum(0))["f1"])

        rows = []
        for i, (first, last) in enumerate(split.offsets):
            rows.append((probabilities[i], first, last, severities[i]))
            if i and severities[i - 1] == severities[i]:
                low = min(probabilities[i - 1 : i + 1])
                rows.append((low, split.offsets[i - 1][1], first, severities[i]))
        worth = [
            sum({"no-error": 0, each: 1, "minor+major": 1}.get(g, 0.5) for g in gold[first:last])
            for _, first, last, each in rows
        ]
        parts = SpanParts(
            numpy.array([row[0] for row in rows]),
            numpy.array([row[2] - row[1] for row in rows]),
            numpy.array(worth),
            sum(g != "no-error" for g in gold),
        )
        tried = [i / 100 for i in range(1, 100)]
        for threshold in tried:
            assert parts.f1(threshold) == pytest.approx(f1_at(threshold))
        best = parts.best_threshold()
        assert f1_at(best) == pytest.approx(max(map(f1_at, tried)))
