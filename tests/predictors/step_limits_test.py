"""`max_steps` and `halting`, in requests and as options of predictors."""

import pytest
from allennlp.common.checks import ConfigurationError

SENTENCE = "Anna Berg met officials in Rome ."
REQUEST = {"sentence": SENTENCE}


@pytest.fixture(scope="module")
def ner(predictor_of, ner_archive):
    return predictor_of(ner_archive)


def test_max_steps_and_halting_of_a_request_limit_the_steps(ner):
    full = ner.predict_json(REQUEST)
    assert "steps" not in full
    for count in (1, 2, 5):
        answer = ner.predict_json({**REQUEST, "max_steps": count, "trace": True})
        assert answer["steps"] == len(answer["trace"]["attention"]) == count
        assert answer["tags"] == answer["trace"]["provisional_tags"][-1]
        assert ner.predict(SENTENCE, max_steps=count)["tags"] == answer["tags"]
    assert answer["tags"] == full["tags"]
    answer = ner.predict_json({**REQUEST, "halting": {"type": "confident", "threshold": 0}})
    assert answer["steps"] == 1
    for limit in ({"max_steps": 10**30}, {"halting": {"type": "settled", "steps": 10**30}}):
        assert ner.predict_json({**REQUEST, **limit})["steps"] == 5
    settled = {"type": "settled", "steps": 2, "max_steps": 4}
    assert 3 <= ner.predict(SENTENCE, halting=settled)["steps"] <= 4


def test_a_request_of_a_list_does_not_change_the_others(ner):
    limited = {**REQUEST, "max_steps": 2}
    answers = ner.predict_batch_json([REQUEST, limited, REQUEST])
    for answer, request in zip(answers, (REQUEST, limited, REQUEST)):
        alone = ner.predict_json(request)
        assert answer.keys() == alone.keys() and answer["tags"] == alone["tags"]
        assert answer["probabilities"] == pytest.approx(alone["probabilities"])
        assert answer.get("steps") == alone.get("steps") == request.get("max_steps")


def test_options_of_a_predictor_are_for_requests_that_have_none(predictor_of, ner_archive):
    predictor = predictor_of(ner_archive, max_steps=2)
    assert predictor.predict_json(REQUEST)["steps"] == 2
    assert predictor.predict_json({**REQUEST, "max_steps": 3})["steps"] == 3
    predictor = predictor_of(ner_archive, halting={"type": "fixed", "max_steps": 1})
    assert predictor.predict_json(REQUEST)["steps"] == 1
    answer = predictor.predict_json({**REQUEST, "halting": {"type": "fixed"}})
    assert answer["steps"] == 5


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"max_steps": 0}, "max_steps: expected an integer of at least 1, got 0"),
        ({"max_steps": True}, "max_steps: expected an integer of at least 1, got true"),
        ({"halting": {"type": "os.system"}}, "halting: expected an object whose type is one of"),
        ({"halting": {"type": ["settled"]}}, "halting: expected an object whose type is one of"),
        (
            {"halting": {"type": "settled", "max_steps": 2.5}},
            "halting: max_steps: expected an integer of at least 1, got 2.5",
        ),
        (
            {"halting": {"type": "settled", "steps": {"type": "x"}}},
            "halting: steps: expected a number",
        ),
        (
            {"halting": {"type": "settled", "threshold": True}},
            "threshold: expected a number, got true",
        ),
        ({"halting": {"type": "confident"}}, "threshold"),
        (
            {"halting": {"type": "confident", "treshold": 1}},
            "halting: confident: expected one of the options max_steps, threshold, got 'treshold'; did you mean",
        ),
    ],
)
def test_wrong_fields_and_options_are_errors(ner, predictor_of, ner_archive, fields, message):
    with pytest.raises(ValueError) as error:
        ner.predict_batch_json([REQUEST, {**REQUEST, **fields}])
    assert str(error.value).startswith("item 1: ") and message in str(error.value)
    with pytest.raises(ConfigurationError) as error:
        predictor_of(ner_archive, **fields)
    assert message in str(error.value)


def test_models_without_steps_have_no_limits(predictor_of, baselines, monkeypatch):
    predictor = predictor_of(baselines["ner_bilstm"])
    for size, got in ((1, "one without it"), (2, "an ensemble, each of whose members keeps")):
        monkeypatch.setattr(predictor._model, "ensemble_size", size)
        with pytest.raises(ValueError, match=f"expected a model with the decoder .*, got {got}"):
            predictor.predict_json({**REQUEST, "max_steps": 2})
