import json

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import LettersDigitsTokenizer
from allennlp.interpret.saliency_interpreters import SimpleGradient

from allennlp_nef.errors import UserError
from allennlp_nef.qe.predictor import WordQePredictor
from tests.predictors.small_models import train as train_tagger
from tests.qe.small_qe import train

SOURCE = "the old dog barks ."
TARGET = "der alte Hund bellt laut ."
LINKS = "0-0 1-1 2-2 3-3 4-5"
REQUEST = {"source": SOURCE, "target": TARGET, "alignments": LINKS}
KINDS = ["target", "gaps", "target_and_gaps", "source", "eos", "severities"]


def predictor_of(name="target", **options):
    return WordQePredictor(*train(name), **options)


@pytest.fixture(scope="module")
def predictor():
    return predictor_of()


def assert_same(answer, other):
    assert answer.keys() == other.keys()
    for name, value in answer.items():
        if name in ("bad_probabilities", "expected_bad_share"):
            assert value == pytest.approx(other[name], abs=1e-5)
        elif name == "spans":
            for one, two in zip(value, other[name], strict=True):
                assert one == {**two, "probability": pytest.approx(two["probability"], abs=1e-5)}
        else:
            assert value == other[name]


class TestRequest:
    def test_answer_has_tokens_tags_and_probabilities_of_bad(self, predictor):
        answer = predictor.predict_json(REQUEST)
        assert set(answer) == {
            *("source", "tokens", "tags", "bad_probabilities", "threshold", "threshold_from"),
            *("spans", "alignments", "alignments_from", "expected_bad_share", "offsets", "checks"),
            "source_offsets",
        }
        assert [TARGET[start:end] for start, end in answer["offsets"]] == answer["tokens"]
        assert [SOURCE[start:end] for start, end in answer["source_offsets"]] == answer["source"]
        assert answer["expected_bad_share"] == pytest.approx(sum(answer["bad_probabilities"]) / 6)
        assert all(type(p) is float and 0 < p < 1 for p in answer["bad_probabilities"])
        # With the weight 5 for BAD: p_BAD >= 1 / (1 + 5) if 5 p_BAD >= p_OK.
        assert answer["threshold"] == pytest.approx(1 / 6)
        expected = ["BAD" if p >= 1 / 6 else "OK" for p in answer["bad_probabilities"]]
        assert answer["tags"] == expected
        json.dumps(answer)

    @pytest.mark.parametrize(
        "changes",
        [
            {"source": f" \t{SOURCE}\n", "target": TARGET.replace(" ", "\u00a0")},
            {"source": SOURCE.split(), "attention": None},
            {"target": TARGET.split(), "attention": False},
            {"alignments": "4-5\t0-0  1-1 2-2 3-3 0-0"},
            {"alignments": ["0-0 1-1", [2, 2], (3, 3), "4-5"]},
        ],
    )
    def test_forms_of_a_request_have_the_same_answer(self, predictor, changes):
        answer = predictor.predict_json(REQUEST)
        if isinstance(changes.get("source"), list):
            del answer["source_offsets"]
        elif "source" in changes:
            answer["source_offsets"] = [[a + 2, b + 2] for a, b in answer["source_offsets"]]
        if isinstance(changes.get("target"), list):
            del answer["offsets"]
        elif "target" in changes:
            answer["spans"] = [
                {**span, "text": span["text"].replace(" ", "\u00a0")} for span in answer["spans"]
            ]
        assert_same(predictor.predict_json({**REQUEST, **changes}), answer)

    @pytest.mark.parametrize("empty", ["", []])
    def test_empty_alignments_are_given(self, predictor, empty):
        answer = predictor.predict_json({**REQUEST, "alignments": empty})
        assert (answer["alignments"], answer["alignments_from"]) == ([], "given")
        without = predictor.predict(SOURCE, TARGET)
        assert without["alignments_from"] == "none"
        assert without["bad_probabilities"] == pytest.approx(answer["bad_probabilities"])

    def test_words_are_aligned_by_the_aligner(self, predictor, monkeypatch):
        class Aligner:
            def align(self, source, target):
                return [(0, 0)]

        assert not predictor.description()["has_aligner"]
        monkeypatch.setattr(predictor._dataset_reader, "aligner", Aligner())
        assert predictor.description()["has_aligner"]
        answer = predictor.predict(SOURCE, TARGET)
        assert (answer["alignments"], answer["alignments_from"]) == ([[0, 0]], "computed")

    def test_instances_of_the_reader_get_what_requests_get(self, predictor, tmp_path):
        (tmp_path / "x.src").write_text(f"{SOURCE}\na\n")
        (tmp_path / "x.mt").write_text(f"{TARGET}\nein\n")
        (tmp_path / "x.align").write_text(f"{LINKS}\n0-0\n")
        (tmp_path / "x.tags").write_text("OK BAD OK OK OK OK\nBAD\n")
        instances = list(predictor._dataset_reader.read(str(tmp_path / "x")))
        first, second = predictor.predict_batch_instance(instances)
        expected = predictor.predict_json(REQUEST)
        del expected["offsets"], expected["source_offsets"]  # the file has words
        assert_same(first, expected)
        assert_same(second, predictor.predict_instance(instances[1]))

    @pytest.mark.parametrize(
        "changes, field",
        [
            ({"source": None}, "source"),
            ({"target": ["das", "Haus "]}, "target"),
            ({"source": ["the", "<EOS>"]}, "source"),
            ({"threshold": "0.5"}, "threshold"),
            ({"alignments": False}, "alignments"),
            ({"alignments": "0-0 5-1"}, "alignments"),
            ({"alignments": ["0-0", [0]]}, "alignments"),
            ({"alignments": [[0, 1.0]]}, "alignments"),
            ({"alignments": [[True, 0]]}, "alignments"),
            ({"max_steps": 1}, "expected"),
        ],
    )
    def test_bad_requests_are_refused(self, predictor, changes, field):
        with pytest.raises(UserError, match=f"^item 1: {field}"):
            predictor.predict_batch_json([REQUEST, {**REQUEST, **changes}])


class TestThreshold:
    def test_threshold_of_a_request_decides(self, predictor):
        plain = predictor.predict_json(REQUEST)
        bad = plain["bad_probabilities"]
        for threshold in (sorted(bad)[3], max(bad), 0, 1):
            answer = predictor.predict(**REQUEST, threshold=threshold)
            assert answer["threshold"] == threshold
            assert answer["bad_probabilities"] == pytest.approx(bad)
            expected = ["BAD" if p >= threshold else "OK" for p in answer["bad_probabilities"]]
            assert answer["tags"] == expected

    def test_option_is_for_requests_without_one(self):
        predictor = predictor_of(threshold=0.999)
        assert predictor.description()["threshold"] == 0.999
        assert predictor.predict_json(REQUEST)["tags"] == ["OK"] * 6
        assert predictor.predict(**REQUEST, threshold=1e-9)["tags"] == ["BAD"] * 6

    def test_model_has_the_calibrated_one(self, monkeypatch):
        predictor = predictor_of()
        before = numpy.array(predictor.predict_json(REQUEST)["bad_probabilities"])
        monkeypatch.setattr(predictor._model, "temperature", 2.0)
        monkeypatch.setattr(predictor._model, "threshold", 0.3)
        answer = predictor.predict_json({**REQUEST, "trace": True})
        odds = numpy.sqrt(before / (1 - before))
        assert answer["bad_probabilities"] == pytest.approx(odds / (1 + odds), rel=1e-4)
        assert answer["threshold"] == predictor.description()["threshold"] == 0.3
        assert answer["tags"] == answer["trace"]["tags"]

    def test_bad_words_have_the_more_probable_severity(self):
        predictor = predictor_of("severities", label_probabilities=True)
        answer = predictor.predict_json({**REQUEST, "threshold": 1e-9})
        table = answer["label_probabilities"]
        expected = ["minor" if a > b else "major" for a, b in zip(table["minor"], table["major"])]
        assert answer["tags"] == expected
        assert {span["severity"] for span in answer["spans"]} == set(expected)


class TestSpans:
    TEXT = " der alte\u00a0 Hund bellt\tlaut\u200b"

    def test_offsets_of_a_list_are_those_of_the_joined_words(self, predictor):
        answer = predictor.predict(SOURCE, ["a", "bc", "d"], threshold=1e-9)
        (span,) = answer["spans"]
        assert (span["start"], span["end"], span["text"]) == (0, 6, "a bc d")

    def test_strings_are_tokenized_and_lists_are_not(self, predictor, monkeypatch):
        reader = predictor._dataset_reader
        monkeypatch.setattr(reader, "target_tokenizer", LettersDigitsTokenizer())
        monkeypatch.setattr(reader, "source_tokenizer", LettersDigitsTokenizer())
        answer = predictor.predict("it's", "der Hund.", "2-2", threshold=1e-9)
        assert answer["tokens"] == ["der", "Hund", "."]
        assert answer["source"] == ["it", "'", "s"]
        assert [(span["start"], span["end"]) for span in answer["spans"]] == [(0, 9)]
        assert predictor.predict("a", ["Hund."])["tokens"] == ["Hund."]

    def test_an_omission_is_an_empty_span(self):
        predictor = predictor_of("eos")
        answer = predictor.predict("the dog", "der Hund", threshold=1e-9)
        assert answer["tokens"] == ["der", "Hund", "<EOS>"]
        assert [(span["start"], span["end"]) for span in answer["spans"]] == [(0, 8), (8, 8)]
        other = predictor.predict("the dog", "der Hund <EOS>", threshold=1e-9)
        assert other["offsets"][2] == [9, 14] and other["tags"] == answer["tags"]


@pytest.mark.parametrize("name", [name for name in KINDS if name != "source"])
@pytest.mark.parametrize("target", ["", [], " <EOS>"])
def test_an_empty_translation_is_answered(name, target):
    predictor, request = predictor_of(name), {"source": SOURCE, "target": target}
    first, answer, last = predictor.predict_batch_json([REQUEST, {**request, "id": 3}, REQUEST])
    assert_same(last, first)
    tokens = {"gaps": ["<EOS>"], "eos": ["<EOS>"], "target_and_gaps": ["<gap>"]}.get(name, [])
    assert (answer["id"], answer["tokens"], len(answer["tags"])) == (3, tokens, len(tokens))
    assert answer["expected_bad_share"] == 1 and answer["tags"] == ["BAD"] * len(tokens)
    assert predictor.predict_json(request)["tags"] == answer["tags"]


@pytest.mark.parametrize("name", KINDS)
def test_answers_have_a_tag_for_each_token(name):
    predictor, request = predictor_of(name), {**REQUEST, "alignments": "0-0 2-1"}
    answer = predictor.predict_json({**request, "trace": True, "attention": True})
    tokens = {
        "gaps": [*TARGET.split(), "<EOS>"],
        "eos": [*TARGET.split(), "<EOS>"],
        "source": SOURCE.split(),
        "target_and_gaps": ["<gap>", *(x for word in TARGET.split() for x in (word, "<gap>"))],
    }.get(name, TARGET.split())
    assert answer["tokens"] == tokens
    assert len(answer["tags"]) == len(answer["bad_probabilities"]) == len(tokens)
    assert [len(row) for row in answer["attention"]] == [len(tokens)] * 3
    assert answer["trace"]["tags"] == answer["tags"]
    assert answer["alignments"] == [[0, 0], [2, 1]]  # as in the request
    is_other = name in ("gaps", "target_and_gaps", "source")
    assert answer.get("tagged") == (name if is_other else None)
    assert ("spans" in answer) is not is_other
    assert answer["source"] == SOURCE.split()
    assert answer.get("target") == (TARGET.split() if is_other else None)
    json.dumps(answer)


def kinds_of(predictor, **request):
    return [each["kind"] for each in predictor.predict_json(request)["checks"]]


def test_checks_know_the_languages_of_a_request_or_of_the_option(predictor):
    house = {"source": "house", "target": "дом дом"}  # Russian does not double words
    assert kinds_of(predictor, **house) == []
    assert kinds_of(predictor, **house, target_language="ru") == ["repetition"]
    answer = predictor.predict_json({**house, "source_language": "en", "target_language": "ru"})
    assert answer.keys() == predictor.predict_json(house).keys()
    with_option = predictor_of(language_pair="en-ru")
    assert kinds_of(with_option, **house) == ["repetition"]
    assert kinds_of(with_option, **house, target_language="tr") == []
    with pytest.raises(UserError, match="^target_language: expected a language code, got 3"):
        predictor.predict_json({**house, "target_language": 3})


def test_hter_is_predicted_besides_the_expected_share():
    answer = WordQePredictor(*train(heads=("hter",))).predict_json(REQUEST)
    assert "quality" not in answer and "critical_error_probability" not in answer
    assert answer["expected_bad_share"] == pytest.approx(sum(answer["bad_probabilities"]) / 6)
    assert 0 < answer["hter"] < 1
    assert answer["hter"] != pytest.approx(answer["expected_bad_share"], abs=1e-4)


def test_answers_have_the_estimates_of_all_heads():
    predictor = WordQePredictor(*train(heads=("quality", "critical_error_probability")))
    answer = predictor.predict_json(REQUEST)
    (output,) = predictor.outputs([predictor.to_item(REQUEST)])
    assert answer["quality"] == pytest.approx(100 * output["quality"])
    assert 0 < answer["critical_error_probability"] < 1 and "hter" not in answer
    assert answer["critical_error_threshold"] == 0.5
    assert {"quality", "critical_error_threshold"} <= {*predictor.description()["answer_fields"]}
    empty = predictor.predict_json({**REQUEST, "target": "", "alignments": None})
    assert empty["quality"] == 0 and empty["critical_error_probability"] == 1


def test_trace_and_description(predictor):
    trace = predictor.trace(SOURCE, TARGET, LINKS)
    assert trace.attention.shape == (3, 6) and trace.tokens == TARGET.split()
    assert trace.to_json() == predictor.predict(**REQUEST, trace=True)["trace"]
    description = predictor.description()
    assert description["task"] == "word_qe" and description["labels"] == ["OK", "BAD"]
    assert description["threshold"] == pytest.approx(1 / 6)
    assert set(description) == {
        *("task", "title", "labels", "colors", "step_name", "max_tokens", "threshold"),
        "answer_fields",
        *("has_aligner", "fields", "pretrained_encoder"),
    }
    assert description["fields"] == ["source", "target", "alignments"]
    predicted = {"hter", "quality", "critical_error_probability", "critical_error_threshold"}
    assert predicted.isdisjoint(description["answer_fields"])


class TestOutput:
    def written(self, output_format, name="target", **options):
        predictor = predictor_of(name, output_format=output_format, **options)
        answers = predictor.predict_batch_json([REQUEST, {"source": "a", "target": "\ud7ffx"}])
        return predictor, answers, "".join(map(predictor.dump_line, answers)).splitlines()

    def test_sentences_are_numbered(self):
        _, answers, lines = self.written("tsv", method="my method")
        rows = [line.split("\t") for line in lines]
        assert [row[:3] for row in rows[:2]] == [["my method", "0", "0"], ["my method", "0", "1"]]
        assert rows[6] == ["my method", "1", "0", "\ud7ffx", answers[1]["tags"][0]]

    def test_submissions_begin_with_the_footprint(self):
        options = {"language_pair": "en-de", "ensemble_size": 3}
        predictor, _, lines = self.written("wmt22", **options)
        count = sum(each.numel() for each in predictor._model.parameters())
        assert lines[:3] == [str(4 * count), str(count), "3"]
        assert lines[3].startswith("en-de\tallennlp_nef\tmt\t0\t0\tder\t")
        assert len(lines) == 3 + 7
        assert self.written("wmt20", language_pair="en-de")[2][2].startswith("en-de\t")

    def test_spans_and_scores_are_written(self):
        options = {"language_pair": "en-de", "threshold": 1e-9, "severity": "minor"}
        _, _, lines = self.written("wmt23-spans", **options)
        assert lines[3].split("\t")[3:] == [TARGET, "0", "26", "minor"]
        _, answers, lines = self.written("wmt-sentences", language_pair="en-de")
        assert [float(line.split("\t")[3]) for line in lines[3:]] == [
            answer["expected_bad_share"] for answer in answers
        ]

    @pytest.mark.parametrize(
        "name, options",
        [
            ("target", {"output_format": "wmt22"}),
            ("gaps", {"output_format": "wmt23-spans", "language_pair": "en-de"}),
            ("source", {"output_format": "wmt20_gaps", "language_pair": "en-de"}),
            ("target", {"severity": "bad"}),
            ("target", {"threshold": "0.5"}),
            ("target", {"output_format": "wmt22", "language_pair": "en\tde"}),
            ("target", {"input_format": "text"}),
        ],
    )
    def test_wrong_options_are_errors(self, name, options):
        with pytest.raises(ConfigurationError):
            predictor_of(name, **options)

    def test_a_model_of_another_task_is_an_error(self):
        with pytest.raises(ConfigurationError):
            WordQePredictor(*train_tagger("ner"))


def test_each_word_of_the_target_has_a_saliency(predictor):
    found = SimpleGradient(predictor).saliency_interpret_from_json(REQUEST)
    assert len(found["instance_1"]["grad_input_1"]) == 6
    assert sum(found["instance_1"]["grad_input_1"]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", ["target", "eos"])
def test_answers_are_data(name, tmp_path):
    predictor = predictor_of(name)
    answer = predictor.predict_json(REQUEST)
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    (instance,) = predictor._dataset_reader.read(str(tmp_path / "answers.jsonl"))
    for field, words in (("source", answer["source"]), ("target", answer["tokens"])):
        assert [token.text for token in instance[field].tokens] == words
    assert instance["tags"].labels == answer["tags"]
    again = predictor.predict_instance(instance)["bad_probabilities"]
    assert again == pytest.approx(answer["bad_probabilities"], abs=1e-5)
