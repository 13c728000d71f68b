import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.data.formats.chunks import chunks_of, convert_tags
from allennlp_nef.data.formats.conll_columns import read_columns
from allennlp_nef.data.formats.conllu import read_conllu
from allennlp_nef.metrics.tag_scores import CHUNKS
from allennlp_nef.predictors import NefTaggerPredictor, WordQePredictor

SENTENCE = "Anna Berg met officials in Rome ."


@pytest.fixture(scope="module")
def ner(predictor_of, ner_archive):
    return predictor_of(ner_archive)


@pytest.fixture(scope="module")
def pos(predictor_of, pos_archive):
    return predictor_of(pos_archive)


def instances_of(predictor, path):
    return list(predictor._dataset_reader.read(str(path)))


class TestAnswer:
    def test_answer_has_tokens_tags_and_probabilities(self, pos):
        answer = pos.predict_json({"tokens": ["Les", "enfants", "dorment", "."]})
        assert set(answer) == {"tokens", "tags", "probabilities"}
        assert answer["tokens"] == ["Les", "enfants", "dorment", "."]
        assert len(answer["tags"]) == len(answer["probabilities"]) == 4
        assert all(type(p) is float and 0 < p <= 1 for p in answer["probabilities"])
        json.dumps(answer)

    def test_spans_are_the_chunks_of_the_tags(self, ner, root):
        answers = ner.predict_batch_instance(instances_of(ner, root / "fixtures/ner/dev.conll"))
        assert sum(len(answer["spans"]) for answer in answers) > 20
        for answer in answers:
            assert set(answer) == {"tokens", "tags", "probabilities", "spans"}
            spans = [(span["start"], span["end"], span["type"]) for span in answer["spans"]]
            assert spans == chunks_of(answer["tags"])
            for span in answer["spans"]:
                words = answer["tokens"][span["start"] : span["end"]]
                assert span["text"] == " ".join(words)
                assert type(span["probability"]) is float
                # A chunk is at most as probable as each of its tags.
                least = min(answer["probabilities"][span["start"] : span["end"]])
                assert 0 < span["probability"] <= least + 1e-5
            json.dumps(answer)

    def test_forms_of_a_request_have_the_same_answer(self, ner):
        expected = ner.predict_json({"tokens": SENTENCE.split()})
        other = {"tokens": SENTENCE.split(), "sentence": None, "attention": False}
        assert ner.predict_json(other) == ner.predict(SENTENCE.split()) == expected
        expected["offsets"] = [[0, 4], [5, 9], [10, 13], [14, 23], [24, 26], [27, 31], [32, 33]]
        other = {"sentence": SENTENCE.replace(" ", "\u00a0"), "attention": None}
        assert ner.predict_json(other) == ner.predict(SENTENCE) == expected

    def test_probabilities_of_all_labels_are_given_where_they_are_wanted(self, ner, pos):
        for predictor in (ner, pos):
            plain = predictor.predict(SENTENCE)
            answer = predictor.predict(SENTENCE, label_probabilities=True)
            table = answer.pop("label_probabilities")
            assert answer == plain and list(table) == predictor._model.tag_head.labels
            assert [sum(word) for word in zip(*table.values())] == pytest.approx([1] * 7, abs=1e-4)
            chosen = [table[tag][i] for i, tag in enumerate(answer["tags"])]
            assert chosen == pytest.approx(answer["probabilities"], abs=1e-6)

    def test_attention_has_a_row_for_each_step(self, ner, pos):
        asked = ner.predict(SENTENCE, attention=True)
        assert [len(step) for step in asked["attention"]] == [7] * 5
        answer = ner.predict(SENTENCE)
        assert set(asked) == {*answer, "attention"} and asked["tags"] == answer["tags"]
        assert asked["probabilities"] == pytest.approx(answer["probabilities"], abs=1e-5)
        assert [len(step) for step in pos.predict("un chat", attention=True)["attention"]] == [2, 2]

    def test_trace_is_the_same_in_python_and_json(self, ner, pos):
        answer = ner.predict_json({"sentence": SENTENCE, "trace": True})
        assert "attention" not in answer
        trace = ner.trace(SENTENCE)
        assert answer["trace"] == trace.to_json()
        assert answer["trace"]["tags"] == answer["tags"]
        assert trace.attention.shape == (5, 7)
        assert ner.trace(SENTENCE.split()).tokens == SENTENCE.split()
        assert pos.trace("un chat").coverage.shape == (2, 2)
        both = ner.predict_json({"sentence": SENTENCE, "trace": True, "attention": True})
        for row, rounded in zip(both["attention"], both["trace"]["attention"]):
            assert row == pytest.approx(rounded, abs=1e-6)
        json.dumps(both)

    def test_trace_is_null_where_the_model_has_none(self, ner_archive):
        class Widen(torch.nn.Module):
            def forward(self, states, mask):
                return torch.nn.functional.pad(states, (0, 50))

        predictor = Predictor.from_archive(load_archive(str(ner_archive)))  # one of its own
        predictor._model.decoder = Widen()
        with pytest.raises(
            ConfigurationError, match="expected a model with neural_easy_first, label_attention or"
        ):
            predictor.trace(SENTENCE)
        assert predictor.predict_json({"sentence": SENTENCE, "trace": True})["trace"] is None

    def test_default_for_quality_estimation_is_word_qe(self, predictor_of, archive_path, ner):
        assert type(ner) is NefTaggerPredictor
        predictor = predictor_of(archive_path, output_format="tsv", method="a")
        assert type(predictor) is WordQePredictor
        assert predictor.output_format == "tsv" and predictor.method == "a"


class TestColumns:
    def written(self, predictor, path):
        answers = predictor.predict_batch_instance(instances_of(predictor, path))
        return answers, "".join(map(predictor.dump_line, answers))

    def test_gold_and_predicted_tags_come_last(self, predictor_of, ner_archive, root, tmp_path):
        predictor = predictor_of(ner_archive, output_format="conll")
        path = root / "fixtures/ner/dev.conll"
        answers, text = self.written(predictor, path)
        output = tmp_path / "output.conll"
        output.write_text(text, encoding="utf-8")
        written, given = list(read_columns(str(output))), list(read_columns(str(path)))
        assert len(written) == len(given) == len(answers)
        for new, old, answer in zip(written, given, answers):
            *columns, gold, predicted = zip(*new.rows)
            *expected, tags = zip(*old.rows)
            assert columns == expected
            assert list(gold) == convert_tags(tags, "BIO")
            assert list(predicted) == answer["tags"]
        gold, predicted = ([[row[i] for row in s.rows] for s in written] for i in (-2, -1))
        scores = CHUNKS.scores(CHUNKS.count(gold, predicted).sentences.sum(0))
        assert 0 < scores["f1-overall"] < 1

    def test_probabilities_of_all_labels_come_before_the_tags(
        self, predictor_of, ner_archive, tmp_path
    ):
        predictor = predictor_of(ner_archive, output_format="conll", label_probabilities=True)
        path = tmp_path / "words.conll"
        path.write_text("Anna B-PER\nsleeps O\n", encoding="utf-8")
        (answer,), text = self.written(predictor, path)
        for i, line in enumerate(text.splitlines()[:2]):
            word, table, gold, predicted = line.split(" ")
            assert (word, gold, predicted) == (("Anna", "B-PER"), ("sleeps", "O"))[i] + (
                answer["tags"][i],
            )
            expected = {label: column[i] for label, column in answer["label_probabilities"].items()}
            assert json.loads(table) == pytest.approx(expected, abs=1e-6)

    def test_unlabeled_sentences_have_predicted_tags_only(
        self, predictor_of, ner_archive, tmp_path
    ):
        predictor = predictor_of(ner_archive, output_format="conll")
        path = tmp_path / "words.conll"
        path.write_text("Anna\nsleeps\n\nRome\n", encoding="utf-8")
        answers, text = self.written(predictor, path)
        tags = [tag for answer in answers for tag in answer["tags"]]
        assert text == "Anna {}\nsleeps {}\n\nRome {}\n\n".format(*tags)
        answer = predictor.predict("Anna sleeps")
        assert predictor.dump_line(answer) == text.split("\n\n")[0] + "\n\n"


class TestOutputFormats:
    @pytest.mark.parametrize("name", ["conll", "conllu"])
    def test_odd_characters_are_read_tagged_and_written_unchanged(
        self, predictor_of, pos_archive, tmp_path, name
    ):
        predictor = predictor_of(pos_archive, output_format=name)
        words = ["\ufeffa", "Dubbz\ufeff", "\ufeff", "b\x01\x83", "\u200b"]
        path = tmp_path / "x"
        path.write_text(predictor.dump_line(predictor.predict_json({"tokens": words})), "utf-8")
        read = read_columns if name == "conll" else read_conllu
        (sentence,) = read(str(path))
        written = [row[name == "conllu"] for row in getattr(sentence, "rows", sentence[0])]
        assert written == words

    def test_conllu_is_the_input_with_predicted_tags(self, predictor_of, pos_archive, root):
        predictor = predictor_of(pos_archive, output_format="conllu")
        path = root / "fixtures/pos/dev.conllu"
        answers = predictor.predict_batch_instance(instances_of(predictor, path))
        written = "".join(map(predictor.dump_line, answers)).splitlines()
        given = path.read_text(encoding="utf-8").splitlines()
        tags = iter([tag for answer in answers for tag in answer["tags"]])
        expected = []
        for line in given:
            columns = line.split("\t")
            if columns[0].isdigit():
                columns[3] = next(tags)
            expected.append("\t".join(columns))
        assert written == expected != given

    def test_conllu_of_a_request_is_made_of_its_words(self, predictor_of, pos_archive):
        predictor = predictor_of(pos_archive, output_format="conllu")
        answer = predictor.predict("un chat")
        first, second = answer["tags"]
        assert predictor.dump_line(answer) == (
            "# text = un chat\n"
            f"1\tun\t_\t{first}\t_\t_\t_\t_\t_\t_\n"
            f"2\tchat\t_\t{second}\t_\t_\t_\t_\t_\t_\n\n"
        )

    @pytest.mark.parametrize(
        "name, message",
        [
            (
                "conllu",
                "conllu needs a model whose dataset_reader is conllu_tags or conllu_trees, "
                "got ConllTagsReader",
            ),
            ("tsv", "tsv needs a model whose dataset_reader is wmt_word_qe, got ConllTagsReader"),
            ("xml", "expected one of json, conll, got 'xml'"),
        ],
    )
    def test_formats_that_the_reader_does_not_write_are_refused(
        self, predictor_of, ner_archive, name, message
    ):
        with pytest.raises(ConfigurationError) as caught:
            predictor_of(ner_archive, output_format=name)
        assert str(caught.value) == f"output_format: {message}"


class TestBadRequests:
    ONE = "expected one of the fields sentence and tokens, got "
    LIMIT = "min_probability: expected a number from 0 to 1, "

    @pytest.mark.parametrize(
        ("request_", "message"),
        [
            (None, "expected an object with the field sentence or tokens, got null"),
            ({}, ONE + "neither"),
            ({"sentence": "a", "tokens": ["a"]}, ONE + "both"),
            (
                {"text": "a"},
                "expected the field sentence or tokens (optional: attention, trace, label_probabilities, "
                'min_probability, max_steps, halting, id), got "text"',
            ),
            ({"sentence": ["a"]}, 'sentence: expected a string, got ["a"]'),
            ({"tokens": "a b"}, 'tokens: expected a list of words, got "a b"'),
            (
                {"tokens": ["a", "b c"]},
                'tokens: expected words without whitespace, got "b c" at index 1',
            ),
            ({"tokens": [""]}, "tokens: expected a word, got an empty one at index 0"),
            ({"sentence": "a", "min_probability": 2}, LIMIT + "got 2"),
            ({"sentence": "a", "min_probability": False}, LIMIT + "got false"),
        ],
    )
    def test_bad_requests_are_refused(self, ner, request_, message):
        with pytest.raises(ValueError) as caught:
            ner.predict_json(request_)
        assert str(caught.value) == message
        with pytest.raises(ValueError) as caught:
            ner.predict_batch_json([{"sentence": "a"}, request_])
        assert str(caught.value) == f"item 1: {message}"

    def test_other_readers_are_refused(self, predictor_of, ner_archive):
        from allennlp.data.dataset_readers import SequenceTaggingDatasetReader

        model = predictor_of(ner_archive)._model
        with pytest.raises(ConfigurationError, match="expects conll_tags, conllu_tags or wmt"):
            NefTaggerPredictor(model, SequenceTaggingDatasetReader())
