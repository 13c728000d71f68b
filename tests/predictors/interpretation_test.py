"""AllenNLP's interpreters and attackers on this package's predictors."""

import json

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.interpret.attackers import Hotflip, InputReduction
from allennlp.interpret.saliency_interpreters import (
    IntegratedGradient,
    SimpleGradient,
    SmoothGradient,
)

from allennlp_nef.predictors.interpretation import FLAG

INTERPRETERS = {"ner": SimpleGradient, "pos": IntegratedGradient, "qe": SmoothGradient}
SENTENCE = {"sentence": "Judge Norton met Irish voters in Bergen ."}
PAIR = {
    "source": "the dogs buy a shirt .",
    "target": "die suchen ein immer Hemd .  ja",
    "alignments": "0-0 1-1 3-2 4-4 5-5",
}


@pytest.fixture(scope="module")
def predictors(ner_archive, pos_archive, archive_path, predictor_of):
    """Those of the three tasks."""
    return {
        "ner": predictor_of(ner_archive),
        "pos": predictor_of(pos_archive),
        "qe": predictor_of(archive_path, "word_qe"),
    }


def request_of(task):
    return PAIR if task == "qe" else SENTENCE


def attacked(task):
    """The field, its gradient and its vocabulary."""
    if task == "qe":
        return "target", "grad_input_2", "target_tokens"
    return "tokens", "grad_input_1", "tokens"


@pytest.mark.parametrize("task", ["ner", "pos", "qe"])
class TestTasks:
    def test_each_prediction_has_the_saliency_of_each_word(self, predictors, task):
        predictor, request, interpreter = predictors[task], request_of(task), INTERPRETERS[task]
        answer = predictor.predict_json(request)
        saliency = interpreter(predictor).saliency_interpret_from_json(request)
        assert json.loads(json.dumps(saliency)) == saliency
        assert len(saliency) == len(answer["spans" if task == "ner" else "tokens"]) > 0
        lengths = {"grad_input_1": len(answer["tokens"])}
        if task == "qe":
            lengths = {"grad_input_1": len(PAIR["source"].split()), "grad_input_2": 7}
        for of_prediction in saliency.values():
            assert {name: len(values) for name, values in of_prediction.items()} == lengths
            for values in of_prediction.values():
                assert sum(values) == pytest.approx(1, abs=1e-4)

    def test_input_reduction_keeps_the_tags_of_the_prediction(self, predictors, task):
        predictor, request = predictors[task], request_of(task)
        field, gradient, _ = attacked(task)
        labeled = predictor.json_to_labeled_instances(request)
        result = InputReduction(predictor).attack_from_json(request, field, gradient)
        assert len(result["final"]) == len(labeled)
        assert any(len(final) < len(result["original"]) for final in result["final"])
        for instance, final in zip(labeled, result["final"]):
            words = [
                token.text for token, tag in zip(*(instance[field], instance["tags"])) if tag != "O"
            ]
            assert words == [word for word in final if word in words]

    def test_hotflip_stops_where_the_tag_changes(self, predictors, task):
        predictor, request = predictors[task], request_of(task)
        field, gradient, vocabulary = attacked(task)
        labeled = predictor.json_to_labeled_instances(request)
        result = Hotflip(predictor, vocabulary).attack_from_json(request, field, gradient)
        original, ends = result["original"], []
        for instance, final, output in zip(labeled, result["final"], result["outputs"]):
            assert len(final) == len(original)
            tags = instance["tags"].labels
            explained = [index for index, tag in enumerate(tags) if tag != "O"]
            changed = any(output["tags"][index] != tags[index] for index in explained)
            assert changed or sum(new != old for new, old in zip(final, original)) > 1
            ends.append(changed)
        assert any(ends)

    def test_predictions_stay_as_they_were(self, predictors, task):
        predictor, request = predictors[task], request_of(task)
        before = predictor.predict_json(request)
        SimpleGradient(predictor).saliency_interpret_from_json(request)
        assert predictor.predict_json(request) == before


def test_the_gradients_are_those_of_finite_differences(predictors):
    """The log-odds of a tag fall by the gradient where the vectors of the words change."""
    predictor = predictors["qe"]
    instance = predictor.json_to_labeled_instances(PAIR)[2]
    gradients, outputs = predictor.get_gradients([instance])
    embedders = predictor._model.input_representation
    sides = {"grad_input_1": embedders.source_embedder, "grad_input_2": embedders.target_embedder}
    for name, embedder in sides.items():
        direction = numpy.sign(gradients[name])
        losses = []
        for step in (1e-3, -1e-3):

            def shift(module, inputs, output, step=step, direction=direction):
                return output + step * output.new_tensor(direction)

            handle = embedder.register_forward_hook(shift)
            losses.append(predictor.get_gradients([instance])[1]["loss"].item())
            handle.remove()
        expected = numpy.abs(gradients[name]).sum()
        assert (losses[0] - losses[1]) / 2e-3 == pytest.approx(expected, rel=0.05)


def test_hotflip_replaces_words_of_the_source(predictors):
    predictor = predictors["qe"]
    predictor.attacked_field = "source"
    try:
        result = Hotflip(predictor, "source_tokens").attack_from_json(
            PAIR, "source", "grad_input_1"
        )
    finally:
        del predictor.attacked_field
    assert result["original"] == PAIR["source"].split()
    known = predictor._model.vocab.get_token_to_index_vocabulary("source_tokens")
    new = [word for final in result["final"] for word in final if word not in result["original"]]
    assert new and all(word in known for word in new)


def test_a_sentence_without_entities_is_one_prediction(predictors):
    predictor = predictors["ner"]
    request = {"sentence": "the ."}
    assert predictor.predict_json(request)["spans"] == []
    (instance,) = predictor.json_to_labeled_instances(request)
    assert FLAG not in instance.fields
    saliency = SimpleGradient(predictor).saliency_interpret_from_json(request)
    assert sum(saliency["instance_1"]["grad_input_1"]) == pytest.approx(1, abs=1e-4)
    with pytest.raises(
        ValueError, match="expected a sentence with predicted chunks, got one without any"
    ):
        InputReduction(predictor).attack_from_json(request)


def test_input_reduction_of_the_source_is_refused(predictors):
    request = {"source": PAIR["source"] + " it is", "target": "die Hunde ."}
    with pytest.raises(ConfigurationError, match='expected input_field_to_attack "target"'):
        InputReduction(predictors["qe"]).attack_from_json(request, "source")


def test_a_model_without_vectors_of_words_is_refused(predictors, monkeypatch):
    predictor = predictors["ner"]
    modules = predictor._model._modules  # undoing `setattr` would delete it
    monkeypatch.setitem(modules, "input_representation", torch.nn.Identity())
    with pytest.raises(ConfigurationError, match="expected a single model .*, got Identity"):
        predictor.get_interpretable_layer()


def test_alignments_follow_the_words_that_are_left(predictors):
    predictor = predictors["qe"]
    instance = predictor.json_to_labeled_instances(PAIR)[1]
    words = instance["target"]
    del words.tokens[0]
    instance.fields["tags"].labels.pop(0)
    instance.indexed = False
    predictor.get_gradients([instance])
    assert instance["alignments"].alignments == [(1, 0), (3, 1), (4, 3), (5, 4)]
    assert [token.idx for token in words.tokens] == list(range(6))
