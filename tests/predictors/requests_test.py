"""Requests: those that cannot be answered, limits, lines, and the field `id`."""

import json
import sys

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.errors import UserError
from allennlp_nef.predictors import base
from allennlp_nef.predictors.base import Item, batches_of
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from allennlp_nef.predictors.requests import request_error
from tests.predictors.small_models import train

SERVER = "allennlp_server.commands.server_simple"
GOOD = [{"sentence": "Anna slept ."}, {"tokens": ["in", "Rome"]}, {"sentence": "often"}]
# a request, and the field that its error names
BAD = [
    (None, "expected"),
    ([{"sentence": "a"}], "expected"),
    ({}, "expected"),
    ({"sentence": "a", "tokens": ["a"]}, "expected"),
    ({"sentence": ["a"]}, "sentence"),
    ({"sentence": " \t\u00a0\u2028"}, "sentence"),
    ({"sentence": "das \ud800a"}, "sentence"),
    ({"sentence": "a " * 1001}, "sentence"),
    ({"sentence": "x" * 10**6 + "y"}, "sentence"),
    ({"tokens": "a b"}, "tokens"),
    ({"tokens": []}, "tokens"),
    ({"tokens": ["a", "b c"]}, "tokens"),
    ({"tokens": ["a", ""]}, "tokens"),
    ({"tokens": json.loads("[" * 400 + "]" * 400)}, "tokens"),
    ({"sentence": "a", "min_probability": 2}, "min_probability"),
    ({"sentence": "a", "min_probability": float("nan")}, "min_probability"),
    ({"sentence": "a", "trace": "yes"}, "trace"),
]


def predictor_of(**options):
    return NefTaggerPredictor(*train("ner"), **options)


@pytest.fixture(scope="module")
def predictor():
    return predictor_of()


class TestBadRequests:
    @pytest.mark.parametrize(("request_", "field"), BAD, ids=lambda value: repr(value)[:30])
    def test_bad_requests_are_refused_in_one_line(self, predictor, request_, field):
        with pytest.raises(UserError, match=f"^{field}") as alone:
            predictor.predict_json(request_)
        message = str(alone.value)
        assert message.isprintable() and len(message) < 300
        with pytest.raises(UserError) as in_a_list:
            predictor.predict_batch_json([GOOD[0], request_])
        assert str(in_a_list.value) == f"item 1: {message}"

    @pytest.mark.parametrize("batch", [None, GOOD[0], "text"])
    def test_batches_that_are_no_lists_are_refused(self, predictor, batch):
        with pytest.raises(UserError):
            predictor.predict_batch_json(batch)

    def test_requests_of_too_many_words_are_refused(self):
        assert predictor_of(max_tokens=3).predict_json(GOOD[0])["tags"]
        with pytest.raises(UserError, match="^sentence"):
            predictor_of(max_tokens=2).predict_json(GOOD[0])

    def test_error_is_a_user_error_without_the_server(self, monkeypatch):
        monkeypatch.delitem(sys.modules, SERVER, raising=False)
        error = request_error("target: this field is missing")
        assert type(error) is UserError
        assert str(error) == "target: this field is missing"

    @pytest.mark.parametrize(
        "options",
        [
            {"on_error": "ignore"},
            {"on_error": "skip", "output_format": "conll"},
            {"input_format": "txt"},
            {"output_format": "conllu"},
            {"min_probability": 2},
            {"max_tokens": None},
            {"batch_size": 0},
            {"keep_fields": "no"},
            {"attention": "no"},
            {"threshold": 0.5},
        ],
    )
    def test_wrong_options_are_errors(self, options):
        with pytest.raises(ConfigurationError):
            predictor_of(**options)


class TestDescription:
    def test_description_is_what_the_page_needs(self):
        description = predictor_of(max_tokens=9).description()
        assert description == json.loads(json.dumps(description))
        assert list(description.pop("colors")) == ["O", "B-PER", "I-PER", "B-LOC"]
        assert description == {
            "task": "chunks",
            "title": "NEF-F csoftmax, N = 3 + CRF",
            "pretrained_encoder": None,
            "labels": ["O", "B-PER", "I-PER", "B-LOC"],
            "step_name": "step",
            "answer_fields": ["tokens", "tags", "probabilities", "spans", "offsets"],
            "max_tokens": 9,
        }


class TestLines:
    @pytest.mark.parametrize("line", ["-DOCSTART- -X- O O", "Anna slept ."])
    def test_lines_without_json_are_told_how_to_be_read(self, predictor, line):
        with pytest.raises(UserError, match="--use-dataset-reader.*input_format"):
            predictor.load_line(line)

    @pytest.mark.parametrize(
        "line",
        ["[1]", "[" * 100_000, '{"id": NaN}', '{"id": "\\ud800"}', '{"sentence": "\\udc00"}'],
    )
    def test_lines_that_are_no_valid_objects_are_refused(self, predictor, line):
        with pytest.raises(UserError):
            predictor.load_line(line)

    def test_answers_are_written_as_they_are_read(self, predictor):
        answer = predictor.predict_json(
            predictor.load_line('{"sentence": "北京 ist \\ud83d\\ude00"}')
        )
        assert '"北京", "ist", "😀"' in predictor.dump_line(answer)


class TestErrors:
    def test_invalid_requests_are_answered_with_an_error_in_their_place(self, predictor):
        requests = [GOOD[0], {"x": "a"}, GOOD[1], {"id": 7, "sentence": ""}, {"id": 8, **GOOD[2]}]
        answers = predictor_of(on_error="skip", batch_size=2).predict_batch_json(requests)
        assert answers[1].keys() == {"error"} and answers[1]["error"].startswith("item 1: ")
        assert answers[3].keys() == {"id", "error"} and answers[3]["id"] == 7
        assert [answers[i]["tags"] for i in (0, 2, 4)] == [
            predictor.predict_json(request)["tags"] for request in GOOD
        ]

    def test_an_invalid_request_costs_no_further_call_of_the_model(self, monkeypatch):
        predictor = predictor_of(on_error="skip", batch_size=2)
        calls = []
        forward = predictor._model.forward_on_instances
        monkeypatch.setattr(
            predictor._model,
            "forward_on_instances",
            lambda batch: calls.append(1) or forward(batch),
        )
        predictor.predict_batch_json([*GOOD, {"sentence": ""}, GOOD[0]])
        assert len(calls) == 2

    def test_unknown_fields_are_kept_on_demand(self):
        keeping = predictor_of(keep_fields=True, on_error="skip")
        other = {"id": None, "url": None, "tags": "gold", "line": [7]}
        bad, answer = keeping.predict_batch_json([{**other, "sentence": ""}, {**other, **GOOD[0]}])
        assert answer == {
            "id": None,
            "url": None,
            "line": [7],
            **predictor_of().predict_json(GOOD[0]),
        }
        assert bad.pop("error") and bad == other

    def test_a_request_on_which_the_model_fails_does_not_affect_others(self, monkeypatch):
        predictor = predictor_of(on_error="skip")
        expected = predictor_of().predict_batch_json(GOOD)
        forward = predictor._model.forward_on_instances

        def fail(instances):
            if any(instance["metadata"].metadata["words"][0] == "in" for instance in instances):
                raise RuntimeError("no such word")
            return forward(instances)

        monkeypatch.setattr(predictor._model, "forward_on_instances", fail)
        first, second, third = predictor.predict_batch_json(GOOD)
        assert second == predictor.predict_json(GOOD[1]) == {"error": "RuntimeError: no such word"}
        assert (first["tags"], third["tags"]) == (expected[0]["tags"], expected[2]["tags"])
        with pytest.raises(RuntimeError, match="no such word"):
            predictor_of().predict_batch_json(GOOD)

    @pytest.mark.parametrize("own_id", ["a", 0, {"b": [1]}])
    def test_answers_begin_with_the_id_of_their_request(self, predictor, own_id):
        expected = predictor.predict_json(GOOD[0])
        first, second = predictor.predict_batch_json([{**GOOD[0], "id": own_id}, GOOD[0]])
        assert next(iter(first.items())) == ("id", own_id)
        assert "id" not in second
        assert predictor.predict_json({**GOOD[0], "id": None}) == expected


class TestBatches:
    def sizes(self, *lengths, batch_size=4, needs_square_memory=False, **options):
        """The lengths of the sentences in each batch."""
        reader = train("ner")[1]
        items = [Item(reader.text_to_instance(["a"] * length), options) for length in lengths]
        batches = list(batches_of(items, batch_size, needs_square_memory))
        assert sorted(id(item) for batch in batches for item in batch) == sorted(map(id, items))
        return [[item.num_tokens for item in batch] for batch in batches]

    def test_sentences_of_similar_length_share_a_batch(self):
        assert self.sizes() == []
        assert self.sizes(3) == [[3]]
        assert self.sizes(9, 1, 7, 2, 8, 3) == [[1, 2, 3, 7], [8, 9]]

    def test_batches_of_long_sentences_are_smaller(self, monkeypatch):
        monkeypatch.setattr(base, "MAX_WORDS", 12)
        assert self.sizes(4, 4, 4, 4, 4) == [[4, 4, 4], [4, 4]]
        assert self.sizes(1, 50, 1, 5) == [[1, 1], [5], [50]]

    def test_batches_with_traces_are_smaller_and_apart(self, monkeypatch):
        monkeypatch.setattr(base, "MAX_PAIRS", 32)
        assert self.sizes(4, 4, 4, trace=True) == [[4, 4], [4]]
        assert self.sizes(4, 4, 4, needs_square_memory=True) == [[4, 4], [4]]
        assert self.sizes(4, 4, 4) == [[4, 4, 4]]
        reader = train("ner")[1]
        traced = [{}, {"attention": True}, {}]
        items = [Item(reader.text_to_instance(["a", "b"]), options) for options in traced]
        assert list(batches_of(items, 4)) == [[items[0], items[2]], [items[1]]]
