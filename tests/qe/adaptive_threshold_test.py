"""The threshold with the highest expected MCC, which needs no gold tags."""

import numpy
import pytest

from allennlp_nef.qe.predictor import WordQePredictor
from allennlp_nef.qe.scores import expected_threshold, word_qe_scores
from tests.qe.small_qe import PAIRS, train

PROBABILITIES = numpy.random.default_rng(0).random(50).round(2)


def expected_mcc(threshold):
    cells = [
        weights[(threshold <= PROBABILITIES) == is_tagged].sum()
        for weights in (PROBABILITIES, 1 - PROBABILITIES)
        for is_tagged in (True, False)
    ]
    return float(word_qe_scores(numpy.array(cells))["mcc"])


def test_no_other_threshold_has_a_higher_expected_mcc():
    best = max(map(expected_mcc, numpy.linspace(0, 1, 201)))
    assert expected_mcc(expected_threshold(PROBABILITIES)) == pytest.approx(best)


def test_adaptive_threshold_is_one_for_all_requests_of_a_call():
    predictor = WordQePredictor(*train(), threshold="adaptive")
    requests = [{"source": source, "target": target} for source, target, *_ in PAIRS * 300]
    requests[0]["threshold"] = 0.25
    first, *answers = predictor.predict_batch_json(requests)
    words = [p for answer in (first, *answers) for p in answer["bad_probabilities"]]
    threshold = expected_threshold(numpy.array(words))
    assert (first["threshold"], first["threshold_from"]) == (0.25, "given")
    for answer in answers:
        assert (answer["threshold"], answer["threshold_from"]) == (threshold, "adaptive")
        tagged = [tag == "BAD" for tag in answer["tags"]]
        assert tagged == [p >= threshold for p in answer["bad_probabilities"]]


def test_default_threshold_is_that_of_the_model():
    predictor = WordQePredictor(*train())
    for answer in predictor.predict_batch_json([{"source": "house", "target": "Haus"}] * 60):
        assert answer["threshold"] == predictor._model.threshold_or_default
        assert answer["threshold_from"] == "model"
