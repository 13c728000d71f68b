import json
import re
from itertools import zip_longest

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from allennlp_nef import load
from allennlp_nef.data.formats.tag_files import read_sentence_scores
from allennlp_nef.data.formats.wmt_word_qe import read_examples
from allennlp_nef.predictors import WordQePredictor

SOURCE = "the doctors see three cups ."
TARGET = "die Schwestern sehen drei Tassen ."
LINKS = "0-0 1-1 2-2 3-3 4-4 5-5"
REQUEST = {"source": SOURCE, "target": TARGET, "alignments": LINKS}


@pytest.fixture(scope="module")
def predictor(word_qe):
    return word_qe()


def assert_same(answer, other):
    numbers = ("bad_probabilities", "sentence_score")
    assert {k: v for k, v in answer.items() if k not in (*numbers, "spans")} == {
        k: v for k, v in other.items() if k not in (*numbers, "spans")
    }
    for one, two in zip_longest(answer["spans"], other["spans"]):
        probability = pytest.approx(two["probability"], abs=1e-5)
        assert one == {**two, "text": one["text"], "probability": probability}
    for name in numbers:
        assert answer[name] == pytest.approx(other[name], abs=1e-5)


class TestRequest:
    def test_answer_has_tokens_tags_and_probabilities_of_bad(self, predictor):
        answer = predictor.predict_json(REQUEST)
        assert set(answer) == {
            "tokens",
            "tags",
            "bad_probabilities",
            "threshold",
            "spans",
            "alignments",
            "alignments_from",
            "sentence_score",
            "offsets",
        }
        assert [TARGET[start:end] for start, end in answer["offsets"]] == answer["tokens"]
        share = sum(answer["bad_probabilities"]) / 6
        assert answer["sentence_score"] == pytest.approx(share)
        assert answer["tokens"] == TARGET.split()
        assert len(answer["bad_probabilities"]) == 6
        assert all(type(p) is float and 0 < p < 1 for p in answer["bad_probabilities"])
        # Of BAD with the weight 5: p_BAD >= 1 / (1 + 5) where 5 p_BAD >= p_OK.
        assert answer["threshold"] == pytest.approx(1 / 6)
        assert answer["tags"] == [
            "BAD" if p >= 1 / 6 else "OK" for p in answer["bad_probabilities"]
        ]

    @pytest.mark.parametrize(
        "changes",
        [
            {"source": f" \t{SOURCE}\n", "target": TARGET.replace(" ", "\u00a0")},
            {"source": SOURCE.split()},
            {"target": TARGET.split(), "attention": False},
            {"alignments": "5-5\t0-0  1-1 2-2 3-3 4-4 0-0", "attention": None},
            {"alignments": LINKS.split()},
            {"alignments": [[i, i] for i in range(6)]},
            {"alignments": ["0-0 1-1", [2, 2], [3, 3], "4-4", "5-5"]},
        ],
    )
    def test_forms_of_a_request_have_the_same_answer(self, predictor, changes):
        answer = predictor.predict_json(REQUEST)
        if "target" in changes and isinstance(changes["target"], list):
            del answer["offsets"]
        assert_same(predictor.predict_json({**REQUEST, **changes}), answer)

    def test_predict_gives_the_answer_to_a_request(self, predictor):
        assert predictor.predict(SOURCE, TARGET, LINKS) == predictor.predict_json(REQUEST)
        links = [(i, i) for i in range(6)]
        assert_same(predictor.predict(SOURCE, TARGET, links), predictor.predict_json(REQUEST))

    @pytest.mark.parametrize("changes", [{"alignments": None}, {}])
    def test_words_of_a_request_without_alignments_are_aligned(self, predictor, changes):
        answer = predictor.predict_json({"source": SOURCE, "target": TARGET, **changes})
        assert answer["alignments"] == [[i, i] for i in range(6)]  # words of the training data
        given = predictor.predict_json(REQUEST)
        assert_same({**answer, "alignments_from": "given"}, given)
        assert (answer["alignments_from"], given["alignments_from"]) == ("computed", "given")

    @pytest.mark.parametrize("empty", ["", []])
    def test_empty_alignments_are_given(self, predictor, empty):
        answer = predictor.predict_json({**REQUEST, "alignments": empty})
        assert (answer["alignments"], answer["alignments_from"]) == ([], "given")
        aligned = predictor.predict_json(REQUEST)["bad_probabilities"]
        assert answer["bad_probabilities"] != pytest.approx(aligned, abs=1e-3)

    def test_nothing_is_aligned_where_the_archive_has_no_aligner(self, archive_path, predictor):
        archive = load_archive(
            str(archive_path), overrides={"validation_dataset_reader.aligner": False}
        )
        without = Predictor.from_archive(archive, "word_qe")
        assert not without.description()["has_aligner"]
        answer = without.predict(SOURCE, TARGET)
        expected = predictor.predict_json({**REQUEST, "alignments": ""})
        assert_same({**answer, "alignments_from": "given"}, expected)
        assert answer["alignments_from"] == "none"

    def test_too_large_lists_are_refused_before_they_are_aligned(self, word_qe, monkeypatch):
        predictor = word_qe(max_batch=2)
        monkeypatch.setattr(predictor._dataset_reader.aligner, "align", lambda *words: 1 / 0)
        request = {"source": "a " * 25, "target": "b " * 25}
        fitting = [{**request, "alignments": ""}] * 2
        assert len(predictor.predict_batch_json(fitting)) == 2
        with pytest.raises(ValueError, match="^expected at most 100 words in all, got 101$"):
            predictor.predict_batch_json([request, {**request, "target": "b " * 26}])

    def test_requests_of_too_many_words_are_refused(self, predictor, word_qe):
        request = {"source": "a " * 1000, "target": ["b"] * 1000}
        assert len(predictor.predict_json(request)["tags"]) == 1000
        request = {"source": "a " * 12, "target": "b " * 12}
        assert len(word_qe(max_tokens=12).predict_json(request)["tags"]) == 12
        with pytest.raises(ValueError, match="source: expected at most 11 words, got 12"):
            word_qe(max_tokens=11).predict_json(request)


class TestBatch:
    REQUESTS = [
        REQUEST,
        {"source": "a", "target": "ein"},
        {"source": SOURCE, "target": f"{TARGET} {TARGET}", "alignments": "5-11", "attention": True},
        {"source": "the red house", "target": "das rote Haus", "alignments": "0-0 2-1"},
        {"source": SOURCE, "target": "die"},
    ]

    def test_requests_of_a_batch_get_what_they_get_alone(self, predictor):
        answers = predictor.predict_batch_json(self.REQUESTS)
        assert len(answers) == len(self.REQUESTS)
        for answer, request in zip(answers, self.REQUESTS):
            alone = predictor.predict_json(request)
            torch.testing.assert_close(
                torch.tensor(answer.pop("attention", [])), torch.tensor(alone.pop("attention", []))
            )
            assert_same(answer, alone)

    def test_batch_size_is_what_the_model_gets(self, word_qe):
        predictor, seen = word_qe(batch_size=2), []
        hook = predictor._model.encoder.register_forward_hook(
            lambda _, inputs, output: seen.append(len(output))
        )
        requests = [each for each in self.REQUESTS if "attention" not in each]
        assert len(predictor.predict_batch_json(requests)) == 4
        hook.remove()
        assert seen == [2, 2]


class TestAttention:
    def test_attention_has_a_row_for_each_step(self, predictor):
        answer = predictor.predict_json({**REQUEST, "attention": True})
        attention = torch.tensor(answer["attention"])
        assert attention.shape == (5, 6)
        torch.testing.assert_close(attention.sum(1), torch.ones(5))
        assert attention.sum(0).max() < 1 + 1e-5  # a constrained softmax
        assert attention.min() >= 0
        assert type(answer["attention"][0][0]) is float

    def test_option_attention_adds_it_to_every_answer(self, word_qe, root):
        predictor = word_qe(attention=True)
        expected = predictor.predict_json({**REQUEST, "attention": True})
        assert predictor.predict_json(REQUEST) == expected
        instances = list(predictor._dataset_reader.read(str(root / "fixtures" / "qe" / "test")))
        assert len(predictor.predict_instance(instances[0])["attention"]) == 5

    def test_attention_is_null_where_the_model_has_no_steps(self, predictor, root):
        """The model here is not trained."""
        params = Params.from_file(str(root / "training_configs" / "qe_bilstm.jsonnet"))
        model = Model.from_params(vocab=predictor._model.vocab, params=params["model"])
        other = WordQePredictor(model, predictor._dataset_reader)
        answer, short = other.predict_batch_json([{**REQUEST, "attention": True}, REQUEST])
        assert "attention" not in short
        assert answer["attention"] is None
        assert len(answer["tags"]) == len(answer["bad_probabilities"]) == 6
        assert set(answer["tags"]) <= {"OK", "BAD"}
        assert all(0 < probability < 1 for probability in answer["bad_probabilities"])


class TestInstances:
    def test_instances_of_the_reader_get_what_requests_get(self, predictor, root):
        prefix = str(root / "fixtures" / "qe" / "test")
        instances = list(predictor._dataset_reader.read(prefix))[:20]
        requests = [
            {"source": example.source, "target": example.target, "alignments": example.alignments}
            for example, _ in zip(read_examples(prefix), range(20))
        ]
        answers = predictor.predict_batch_instance(instances)
        assert any("BAD" in answer["tags"] for answer in answers)
        for answer, instance, request in zip(answers, instances, requests):
            assert_same(answer, predictor.predict_json(request))
            assert_same(answer, predictor.predict_instance(instance))


class TestOutput:
    ANSWERS = [
        {"tokens": ["das", "Küche"], "tags": ["OK", "BAD"], "bad_probabilities": [0.25, 0.75]},
        {"tokens": ["\ud800x", "\x00"], "tags": ["BAD", "OK"], "bad_probabilities": [0.75, 0.25]},
    ]

    def dump(self, predictor):
        text = "".join(map(predictor.dump_line, self.ANSWERS))
        text.encode("utf-8")
        return text

    def test_json_is_an_object_a_line_in_ascii(self, predictor):
        text = self.dump(predictor)
        assert [json.loads(line) for line in text.splitlines()] == self.ANSWERS
        text.encode("ascii")

    def test_sentences_are_numbered_and_lone_surrogates_escaped(self, word_qe):
        text = self.dump(word_qe(output_format="tsv", method="my method"))
        assert text.splitlines() == [
            "my method\t0\t0\tdas\tOK",
            "my method\t0\t1\tKüche\tBAD",
            "my method\t1\t0\t\\ud800x\tBAD",
            "my method\t1\t1\t\x00\tOK",
        ]
        assert self.dump(word_qe(output_format="tsv")).startswith("allennlp_nef\t0\t0\t")

    def test_submissions_begin_with_the_footprint(self, word_qe):
        predictor = word_qe(output_format="wmt22", language_pair="en-de", ensemble_size=3)
        parameters = sum(each.numel() for each in predictor._model.parameters())
        lines = self.dump(predictor).splitlines()
        assert lines[:3] == [str(4 * parameters), str(parameters), "3"]
        assert lines[3] == "en-de\tallennlp_nef\tmt\t0\t0\tdas\tOK"
        assert len(lines) == 7
        again = "".join(predictor.dump(answer, n) for n, answer in enumerate(self.ANSWERS))
        assert again.splitlines() == lines  # of another file
        options = {"output_format": "wmt20", "language_pair": "en-de", "method": "m"}
        earlier = self.dump(word_qe(**options)).splitlines()
        assert earlier[:3] == [*lines[:2], "en-de\tm\tmt\t0\t0\tdas\tOK"]
        default = word_qe(output_format="wmt22", language_pair="en-de")
        assert self.dump(default).splitlines()[2] == "1"

    def test_sentence_scores_are_what_score_tags_reads(self, word_qe, tmp_path):
        options = {"output_format": "wmt-sentences", "language_pair": "en-de", "method": "m"}
        predictor = word_qe(**options, ensemble_size=2)
        answers = predictor.predict_batch_json([REQUEST, {**REQUEST, "alignments": ""}])
        text = "".join(map(predictor.dump_line, answers))
        path = tmp_path / "scores"
        path.write_text(text)
        file = read_sentence_scores(str(path))
        assert file.tags == [[answer["sentence_score"]] for answer in answers]
        system = file.system
        assert (system.name, system.language_pair, system.header[2]) == ("m", "en-de", 2)


class TestSentenceScore:
    def test_answer_has_the_predicted_score_and_the_expected_share(self, allennlp, small, tmp_path):
        config = "training_configs/qe_bilstm_sentences.jsonnet"
        allennlp("train", config, "-s", tmp_path / "run", *small())
        metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
        assert {"best_validation_pearson", "best_validation_spearman"} <= metrics.keys()
        archive = load_archive(str(tmp_path / "run" / "model.tar.gz"))
        answer = Predictor.from_archive(archive, "word_qe").predict_json(REQUEST)
        share = sum(answer["bad_probabilities"]) / 6
        assert answer["expected_bad_share"] == pytest.approx(share)
        assert 0 < answer["sentence_score"] < 1
        assert answer["sentence_score"] != pytest.approx(share, abs=1e-4)


class TestConstruction:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"output_format": "xml"},
                "output_format: expected one of json, tags, tsv, text, wmt20, wmt20_gaps, wmt22, wmt22-explanations, "
                "wmt23-spans, wmt-sentences, wmt25-spans, wmt26-task1, wmt26-task2, wmt26-task3, got 'xml'",
            ),
            ({"method": "a\tb"}, r"method: expected text without tabs and line ends, got 'a\tb'"),
            ({"max_tokens": 0}, "max_tokens: expected an integer of at least 1, got 0"),
            ({"attention": "false"}, 'attention: expected true or false, got "false"'),
            (
                {"ensemble_size": 2, "output_format": "wmt20", "language_pair": "a-b"},
                "ensemble_size: expected output_format wmt22 or wmt23-spans or wmt-sentences, which has it, "
                "got wmt20",
            ),
            (
                {"ensemble_size": 0, "output_format": "wmt22", "language_pair": "a-b"},
                "ensemble_size: expected an integer of at least 1, got 0",
            ),
            (
                {"output_format": "wmt22"},
                "language_pair: expected one such as en-de, got None",
            ),
            (
                {"output_format": "wmt20", "language_pair": "en de"},
                "language_pair: expected one such as en-de, got 'en de'",
            ),
            (
                {"output_format": "tags", "trace": True},
                "attention, trace: expected output_format json, which has them, got tags",
            ),
            (
                {"output_format": "tags", "label_probabilities": True},
                "label_probabilities: expected output_format json or conll, which has them, got tags",
            ),
        ],
    )
    def test_bad_arguments_are_refused(self, word_qe, arguments, message):
        with pytest.raises(ConfigurationError, match=re.escape(message)):
            word_qe(**arguments)

    def test_other_readers_are_refused(self, predictor):
        reader = DatasetReader.by_name("sequence_tagging")()
        with pytest.raises(ConfigurationError, match="expects wmt_word_qe, got SequenceTagging"):
            WordQePredictor(predictor._model, reader)


def test_an_archive_that_reads_a_part_of_a_file_says_so(archive_path, caplog, root):
    for limit, is_told in ((3, True), (1000, False)):
        predictor = load(
            str(archive_path), overrides={"validation_dataset_reader.max_instances": limit}
        )
        caplog.clear()
        assert len(list(predictor._dataset_reader.read(str(root / "fixtures/qe/dev")))) <= limit
        assert ("only the first 3 sentences were read, as max_inst" in caplog.text) is is_told
