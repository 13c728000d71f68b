import json

import numpy
import pytest
from allennlp.interpret.saliency_interpreters import (
    IntegratedGradient,
    SimpleGradient,
    SmoothGradient,
)

from allennlp_nef.data.chunks import chunks_of
from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from tests.predictors.small_models import train

SENTENCE = "Anna Berg met officials in Rome ."


def predictor_of(name, **options):
    return NefTaggerPredictor(*train(name), **options)


@pytest.fixture(scope="module")
def ner():
    return predictor_of("ner")


@pytest.fixture(scope="module")
def pos():
    return predictor_of("pos")


class TestAnswer:
    def test_answer_has_tokens_tags_and_probabilities(self, pos):
        answer = pos.predict_json({"tokens": ["les", "enfants", "dorment", "."]})
        assert set(answer) == {"tokens", "tags", "probabilities"}
        assert answer["tokens"] == ["les", "enfants", "dorment", "."]
        assert answer["tags"] == ["DET", "NOUN", "VERB", "PUNCT"]
        assert all(type(p) is float and 0 < p <= 1 for p in answer["probabilities"])
        assert pos.description()["task"] == "tags"
        json.dumps(answer)

    def test_spans_are_the_chunks_of_the_tags(self, ner):
        answer = ner.predict(SENTENCE.split())
        assert set(answer) == {"tokens", "tags", "probabilities", "spans"}
        chunks = chunks_of(answer["tags"])
        assert chunks == [(0, 2, "PER"), (5, 6, "LOC")]
        for (start, end, kind), span in zip(chunks, answer["spans"], strict=True):
            text = " ".join(answer["tokens"][start:end])
            assert (span["type"], span["text"]) == (kind, text)
            assert 0 < span["probability"] <= min(answer["probabilities"][start:end]) + 1e-5
        json.dumps(answer)

    def test_spans_are_characters_of_the_sentence_as_it_was_given(self, ner):
        spaced = "  Anna\u00a0 Berg met officials in\tRome ."
        for given, places in ((SENTENCE, [(0, 9), (27, 31)]), (spaced, [(2, 12), (30, 34)])):
            spans = ner.predict(given)["spans"]
            assert [(span["start"], span["end"]) for span in spans] == places
            assert [span["text"] for span in spans] == [given[a:b] for a, b in places]
        assert ner.predict(SENTENCE.split())["spans"] == ner.predict(SENTENCE)["spans"]
        assert ner.predict(["Paul", "slept", "Anna", "Berg"])["spans"][-1]["end"] == 20

    def test_forms_of_a_request_have_the_same_answer(self, ner):
        expected = ner.predict_json({"tokens": SENTENCE.split()})
        other = {"tokens": SENTENCE.split(), "sentence": None, "attention": False}
        assert ner.predict_json(other) == ner.predict(SENTENCE.split()) == expected
        expected["offsets"] = [[0, 4], [5, 9], [10, 13], [14, 23], [24, 26], [27, 31], [32, 33]]
        other = {"sentence": SENTENCE.replace(" met ", "\u00a0met\u00a0"), "attention": None}
        assert ner.predict_json(other) == ner.predict(SENTENCE) == expected

    @pytest.mark.parametrize("name", ["ner", "pos"])
    def test_probabilities_of_all_labels_are_given_on_request(self, name):
        predictor = predictor_of(name)
        plain = predictor.predict(SENTENCE)
        answer = predictor.predict(SENTENCE, label_probabilities=True)
        table = answer.pop("label_probabilities")
        assert answer == plain and list(table) == predictor._model.tag_head.labels
        assert [sum(word) for word in zip(*table.values())] == pytest.approx([1] * 7, abs=1e-4)
        chosen = [table[tag][i] for i, tag in enumerate(answer["tags"])]
        assert chosen == pytest.approx(answer["probabilities"], abs=1e-6)

    def test_attention_has_a_row_for_each_step(self, ner, pos):
        asked = ner.predict(SENTENCE, attention=True)
        assert [len(step) for step in asked["attention"]] == [7] * 3
        assert set(asked) == {*ner.predict(SENTENCE), "attention"}
        assert [len(step) for step in pos.predict("un chat", attention=True)["attention"]] == [2, 2]

    def test_trace_is_the_same_in_python_and_json(self, ner, pos):
        answer = ner.predict_json({"sentence": SENTENCE, "trace": True})
        assert "attention" not in answer
        trace = ner.trace(SENTENCE)
        assert answer["trace"] == trace.to_json()
        assert answer["trace"]["tags"] == answer["tags"]
        assert trace.attention.shape == (3, 7)
        assert ner.trace(SENTENCE.split()).tokens == SENTENCE.split()
        assert pos.trace("un chat").coverage.shape == (2, 2)
        assert "iframe" in trace._repr_html_()
        json.dumps(answer)

    def test_trace_can_be_plotted(self, ner):
        pytest.importorskip("matplotlib")
        trace = ner.trace(SENTENCE)
        (image,) = trace.plot().axes[0].images
        assert image.get_array().tolist() == trace.to_json()["attention"]

    def test_trace_is_null_if_the_model_has_none(self):
        predictor = predictor_of("plain")
        answer = predictor.predict(SENTENCE, trace=True, attention=True)
        assert answer["trace"] is answer["attention"] is None
        assert predictor.description()["step_name"] is None
        with pytest.raises(UserError):
            predictor.trace(SENTENCE)

    def test_options_of_the_predictor_are_defaults(self):
        predictor = predictor_of("ner", attention=True, label_probabilities=True)
        answer = predictor.predict(SENTENCE)
        assert {"attention", "label_probabilities"} <= set(answer)
        assert "attention" not in predictor.predict(SENTENCE, attention=False)
        instance = predictor._dataset_reader.text_to_instance(SENTENCE.split(), ["X"] * 7)
        assert "attention" in predictor.predict_instance(instance)  # the tags are not read


class TestMinProbability:
    def test_improbable_spans_are_left_out(self, ner):
        plain = ner.predict(SENTENCE)
        first, second = sorted(plain["spans"], key=lambda span: span["probability"])
        answer = ner.predict(SENTENCE, min_probability=second["probability"])
        assert answer["spans"] == [second]
        for index, tag in enumerate(plain["tags"]):
            if answer["tokens"][index] in first["text"].split():
                assert answer["tags"][index] == "O"
                assert answer["probabilities"][index] < 1 - plain["probabilities"][index] + 1e-6
            else:
                assert answer["tags"][index] == tag
                assert answer["probabilities"][index] == plain["probabilities"][index]
        traced = ner.predict(SENTENCE, min_probability=second["probability"], trace=True)
        assert traced["trace"]["tags"] == plain["tags"]

    def test_uncertain_words_of_other_taggers_are_listed(self):
        predictor = predictor_of("pos", min_probability=0.0)
        plain = predictor.predict("Anna mange dans le jardin .")
        assert plain["uncertain"] == []
        limit = sorted(plain["probabilities"])[2]
        answer = predictor.predict("Anna mange dans le jardin .", min_probability=limit)
        assert answer == {**plain, "uncertain": answer["uncertain"]}
        assert [plain["probabilities"][index] < limit for index in answer["uncertain"]] == [
            True
        ] * 2
        assert "uncertain" not in predictor_of("pos").predict("Anna dort .")


class TestOutputFormats:
    def test_conllu_of_a_request_consists_of_its_words(self):
        predictor = predictor_of("pos", output_format="conllu")
        answer = predictor.predict("un chat")
        first, second = answer["tags"]
        assert predictor.dump_line(answer) == (
            "# text = un chat\n"
            f"1\tun\t_\t{first}\t_\t_\t_\t_\t_\t_\n"
            f"2\tchat\t_\t{second}\t_\t_\t_\t_\t_\t_\n\n"
        )


class TestText:
    LINES = ["\ufeffMarlow left Lisbon.\r\n", "  Anna\u00a0met \ufeffPaul (in 10:30).\n"]

    def test_a_line_is_a_sentence_whose_words_have_offsets(self):
        predictor = predictor_of("ner", input_format="text")
        lines = [predictor.load_line(line) for line in self.LINES]
        first, second = predictor.predict_batch_json(lines)
        assert first["tokens"] == ["Marlow", "left", "Lisbon", "."]
        assert first["offsets"] == [[0, 6], [7, 11], [12, 18], [18, 19]]
        assert second["tokens"] == ["Anna", "met", "\ufeffPaul", "(", "in", "10:30", ")", "."]
        assert [self.LINES[1][a:b] for a, b in second["offsets"]] == second["tokens"]

    @pytest.mark.parametrize("tokenizer", ["just_spaces", {"type": "just_spaces"}])
    def test_sentences_are_split_by_the_tokenizer_and_lists_are_not(self, ner, tokenizer):
        answer = ner.predict("in Lisbon.")
        assert answer["tokens"] == ["in", "Lisbon", "."]
        assert answer["offsets"] == [[0, 2], [3, 9], [9, 10]]
        assert ner.predict(["in", "Lisbon."])["tokens"] == ["in", "Lisbon."]
        predictor = predictor_of("ner", tokenizer=tokenizer)
        assert predictor.predict("in Lisbon.")["tokens"] == ["in", "Lisbon."]

    def test_tokenizer_of_the_reader_splits_sentences_unless_the_option_is_set(self, monkeypatch):
        _, reader = train("ner")
        monkeypatch.setattr(reader, "tokenizer", PunctuationTokenizer(split_cjk=True))
        assert predictor_of("ner").predict("東京 ok")["tokens"] == ["東", "京", "ok"]
        given = predictor_of("ner", tokenizer="punctuation")
        assert given.predict("東京 ok")["tokens"] == ["東京", "ok"]


class TestSaliency:
    @pytest.mark.parametrize("interpreter", [SimpleGradient, IntegratedGradient, SmoothGradient])
    def test_each_word_has_a_saliency(self, ner, interpreter):
        before = ner.predict(SENTENCE)
        found = interpreter(ner).saliency_interpret_from_json({"sentence": SENTENCE})
        (saliency,) = found["instance_1"].values()
        assert len(saliency) == 7 and sum(saliency) == pytest.approx(1, abs=1e-4)
        assert ner.predict(SENTENCE) == before

    def test_gradients_are_those_of_finite_differences(self, pos):
        (instance,) = pos.json_to_labeled_instances({"sentence": "un chat dort ."})
        gradients, _ = pos.get_gradients([instance])
        direction = numpy.sign(gradients["grad_input_1"])
        losses = []
        for step in (1e-3, -1e-3):

            def shift(module, inputs, output, step=step):
                return output + step * output.new_tensor(direction)

            handle = pos.get_interpretable_layer().register_forward_hook(shift)
            losses.append(pos.get_gradients([instance])[1]["loss"].item())
            handle.remove()
        expected = numpy.abs(gradients["grad_input_1"]).sum()
        assert (losses[0] - losses[1]) / 2e-3 == pytest.approx(expected, rel=0.05)
