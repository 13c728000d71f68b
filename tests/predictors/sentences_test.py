"""The predictors of sentence classes and of pairs. `docs/sentences.md` tests the commands."""

import json

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.errors import UserError
from allennlp_nef.predictors import SentenceClassifierPredictor, SentencePairPredictor
from tests.small_experiment import ROOT, config_of, experiment

CONFIGS = {
    "questions": "trec_nef_f",
    "entailment": "sick_entailment_bilstm",
    "relatedness": "sick_relatedness_lstm",
}
PAIR = {"first": "A man is washing a car", "second": ["A", "man", "sleeps"]}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The model, without training, and the reader of each config."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name, config in CONFIGS.items():
            model = experiment(config_of(config), tmp_path_factory.mktemp(name), 60).model
            params = Params(config_of(config)["validation_dataset_reader"])
            found[name] = (model, DatasetReader.from_params(params))
    return found


@pytest.fixture
def questions(parts):
    return SentenceClassifierPredictor(*parts["questions"])


def test_answer_has_words_label_and_probabilities(questions):
    answer = questions.predict("Where is Oslo ?")
    assert set(answer) == {"tokens", "label", "probabilities"}
    assert answer["tokens"] == ["Where", "is", "Oslo", "?"]
    probabilities = answer["probabilities"]
    assert sorted(probabilities) == ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
    assert answer["label"] == max(probabilities, key=probabilities.get)
    assert sum(probabilities.values()) == pytest.approx(1)
    json.dumps(answer)


def test_ids_of_requests_and_lines_of_text_are_taken(parts):
    predictor = SentenceClassifierPredictor(*parts["questions"], input_format="text")
    answer = predictor.predict_json({"id": 3, "sentence": "Where is Oslo ?"})
    assert answer.pop("id") == 3
    assert predictor.predict_json(predictor.load_line("Where is Oslo ?\n")) == answer
    with pytest.raises(ConfigurationError, match="as a request needs first and second, got text"):
        SentencePairPredictor(*parts["entailment"], input_format="text")


def test_batches_give_the_answers_of_single_requests(questions):
    requests = [{"sentence": text} for text in ("Who ?", "Where is the old boat of Oslo ?")]
    for answer, request in zip(questions.predict_batch_json(requests), requests):
        single = questions.predict_json(request)
        assert answer["tokens"] == request["sentence"].split()
        assert answer["probabilities"] == pytest.approx(single["probabilities"], abs=1e-5)


@pytest.mark.parametrize(
    "name, field, labels",
    [
        ("entailment", "label", ["CONTRADICTION", "ENTAILMENT", "NEUTRAL"]),
        ("relatedness", "score", ["1", "2", "3", "4", "5"]),
    ],
)
def test_answer_to_a_pair_has_a_label_or_a_score(parts, name, field, labels):
    answer = SentencePairPredictor(*parts[name]).predict(**PAIR)
    assert set(answer) == {"first", "second", field, "probabilities"}
    assert answer["second"] == PAIR["second"] and sorted(answer["probabilities"]) == labels
    if field == "score":
        mean = sum(int(label) * share for label, share in answer["probabilities"].items())
        assert answer["score"] == pytest.approx(mean, abs=1e-5)
    json.dumps(answer)


@pytest.mark.parametrize(
    "request_, message",
    [
        ({"text": "a"}, 'item 1: expected the field sentence (optional: id), got "text"'),
        ({"sentence": ["a b"]}, "item 1: sentence: expected words without whitespace, got "),
        ([], "item 1: expected an object with the field sentence, got []"),
    ],
)
def test_requests_that_cannot_be_answered_are_errors(questions, request_, message):
    with pytest.raises(UserError) as info:
        questions.predict_batch_json([{"sentence": "Who ?"}, request_])
    assert str(info.value).startswith(message)


def test_models_and_readers_of_other_tasks_are_refused(parts):
    message = "the predictor sentence_classifier expects basic_classifier, got SentencePair"
    with pytest.raises(ConfigurationError, match=message):
        SentenceClassifierPredictor(*parts["entailment"])
    message = "this predictor expects SentencePairsReader, got LabeledSentencesReader"
    with pytest.raises(ConfigurationError, match=message):
        SentencePairPredictor(*parts["questions"])


def test_predictor_of_allennlp_for_classifiers_answers_the_same(parts, questions):
    from allennlp.predictors import TextClassifierPredictor

    answer = TextClassifierPredictor(*parts["questions"]).predict("Where is Oslo ?")
    assert answer["label"] == questions.predict("Where is Oslo ?")["label"]
