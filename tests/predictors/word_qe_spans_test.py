"""Error spans in the answers of `word_qe`, raw text, severities, and the files that `predict` writes of them."""

import json

import numpy
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import LettersDigitsTokenizer
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.data.formats.wmt_segments import read_segments
from allennlp_nef.predictors.word_qe import mean_steps

SOURCE = "the doctors see three cups ."
TARGET = " die Schwestern\u00a0 sehen drei\tTassen.\u200b"


def bad_groups(answer):
    """The indices of the words of each span, by a plain loop."""
    groups, last = [], None
    for i, tag in enumerate(answer["tags"]):
        if tag != "OK" and tag == last:
            groups[-1].append(i)
        elif tag != "OK":
            groups.append([i])
        last = tag
    return groups


def with_tokenizer(archive_path, **options):
    predictor = Predictor.from_archive(
        load_archive(str(archive_path)), "word_qe", extra_args=options
    )
    predictor._dataset_reader.target_tokenizer = LettersDigitsTokenizer()
    return predictor


def middle_of(answer):
    return sorted(answer["bad_probabilities"])[len(answer["tokens"]) // 2]


class TestSpans:
    @pytest.mark.parametrize("severity", [None, "minor"])
    def test_spans_are_those_of_the_tags(self, word_qe, severity):
        predictor = word_qe(**({} if severity is None else {"severity": severity}))
        threshold = middle_of(predictor.predict(SOURCE, TARGET))
        for limit in (threshold, 0.999999, 1e-9):
            answer = predictor.predict(SOURCE, TARGET, threshold=limit)
            groups = bad_groups(answer)
            assert len(answer["spans"]) == len(groups)
            for span, words in zip(answer["spans"], groups):
                text = TARGET[span["start"] : span["end"]]
                assert span["text"] == text
                assert text.split() == [answer["tokens"][i] for i in words]
                assert span["severity"] == severity or (
                    severity is None and span["severity"] == "major"
                )
                bad = [answer["bad_probabilities"][i] for i in words]
                assert span["probability"] == pytest.approx(sum(bad) / len(bad))
        assert [span["text"] for span in answer["spans"]] == [TARGET.strip()]  # all words are BAD
        assert (span["start"], span["end"]) == (1, len(TARGET))

    def test_offsets_of_a_list_are_those_of_the_joined_words(self, word_qe):
        answer = word_qe().predict(SOURCE, ["a", "bc", "d"], threshold=1e-9)
        (span,) = answer["spans"]
        assert (span["start"], span["end"], span["text"]) == (0, 6, "a bc d")

    def test_strings_are_tokenized_and_lists_are_not(self, archive_path):
        predictor = with_tokenizer(archive_path, threshold=1e-9)
        answer = predictor.predict(SOURCE, TARGET, "0-6")
        assert answer["tokens"] == ["die", "Schwestern", "sehen", "drei", "Tassen", ".", "\u200b"]
        assert [(span["start"], span["end"]) for span in answer["spans"]] == [(1, len(TARGET))]
        assert answer["alignments"] == [[0, 6]]
        assert predictor.predict(SOURCE, ["Tassen."])["tokens"] == ["Tassen."]

    def test_tokens_of_a_string_count_for_the_limit(self, archive_path):
        predictor = with_tokenizer(archive_path, max_tokens=3)
        with pytest.raises(ValueError, match="target: expected at most 3 words, got 4"):
            predictor.predict("a", "a...")
        with pytest.raises(ValueError, match='target: expected at least one word, got " "'):
            predictor.predict("a", " ")


class TestSeverities:
    @pytest.fixture
    def predictor(self, spans_archive, predictor_of):
        return predictor_of(spans_archive, "word_qe")

    def test_bad_words_have_the_more_probable_severity(self, predictor, root):
        for line in (root / "fixtures/qe/test.mt").read_text(encoding="utf-8").splitlines()[:20]:
            answer = predictor.predict(SOURCE, line)
            assert answer["threshold"] == pytest.approx(1 / 6)
            for tag, bad in zip(answer["tags"], answer["bad_probabilities"]):
                assert (tag != "OK") == (bad >= answer["threshold"])
            groups = bad_groups(answer)
            assert [span["severity"] for span in answer["spans"]] == [
                answer["tags"][words[0]] for words in groups
            ]
        assert set(predictor.description()["labels"]) == {"OK", "minor", "major"}
        answer = predictor.predict(SOURCE, TARGET, threshold=1e-9)
        assert set(answer["tags"]) <= {"minor", "major"}

    def test_model_without_steps_has_no_attention_to_explain(self, spans_archive, predictor_of):
        options = {"output_format": "wmt22-explanations", "explanation": "attention"}
        with pytest.raises(
            ConfigurationError, match="explanation: .* whose steps attend .* got lstm"
        ):
            predictor_of(spans_archive, **options)

    def test_their_own_severities_cannot_be_replaced(self, spans_archive, predictor_of):
        with pytest.raises(ConfigurationError, match="severity: expected a model without sever"):
            predictor_of(spans_archive, "word_qe", severity="minor")

    @pytest.mark.parametrize("output_format", ["tags", "tsv", "wmt22", "text"])
    def test_every_format_can_be_written(self, spans_archive, predictor_of, output_format):
        pair = {"language_pair": "en-de"} if output_format == "wmt22" else {}
        predictor = predictor_of(
            spans_archive, "word_qe", output_format=output_format, threshold=1e-9, **pair
        )
        text = predictor.dump_line(predictor.predict(SOURCE, "das Haus"))
        assert text.count("BAD" if output_format != "text" else "/m") == 2


@pytest.mark.parametrize(
    "options, message",
    [
        ({"severity": "bad"}, "severity: expected minor or major, got 'bad'"),
        (
            {"severity": "minor", "output_format": "tags"},
            "severity: expected output_format json or wmt23-spans or wmt25-spans or wmt26-task1, which has it",
        ),
        (
            {"explanation": "attention"},
            "explanation: expected output_format wmt22-explanations, which has it, got json",
        ),
        (
            {"explanation": "x", "output_format": "wmt22-explanations"},
            "explanation: expected bad_probability or attention, got 'x'",
        ),
    ],
)
def test_bad_options_are_refused(word_qe, options, message):
    with pytest.raises(ConfigurationError) as error:
        word_qe(**options)
    assert str(error.value).startswith(message)


class TestFiles:
    """What `predict` writes is what `score-tags` reads."""

    @pytest.fixture
    def predict(self, allennlp, tmp_path):
        def predict(archive, data, output_format, **options):
            path = tmp_path / output_format
            arguments = json.dumps({"output_format": output_format, **options})
            reader = [] if str(data).endswith(".jsonl") else ["--use-dataset-reader"]
            if isinstance(data, dict):
                data = data["spans"]
            allennlp(
                *("predict", archive, data, *reader, "--predictor", "word_qe", "--silent"),
                *("--predictor-args", arguments, "--output-file", path),
            )
            return path

        return predict

    @pytest.fixture
    def score(self, allennlp, capsys):
        def score(*arguments):
            capsys.readouterr()
            allennlp("score-tags", *arguments, "--json")
            return json.loads(capsys.readouterr().out)

        return score

    def test_spans(self, predict, score, spans_archive, tmp_path):
        gold = "fixtures/qe/test_spans.tsv"
        path = predict(spans_archive, gold, "wmt23-spans", language_pair="en-de", ensemble_size=2)
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[2] == "2"
        assert len(lines) == 203
        answers = predict(spans_archive, gold, "json").read_text(encoding="utf-8").splitlines()
        for answer, line in zip(map(json.loads, answers), lines[3:]):
            cells = line.split("\t")
            assert cells[:2] == ["en-de", "allennlp_nef"]
            spans = answer["spans"]
            expected = [span["severity"] for span in spans] or ["no-error"]
            assert cells[6].split() == expected
        scores = score(gold, path, "--format", "wmt-spans")
        assert "f1" in json.dumps(scores)

    def test_segments(self, predict, score, spans_archive, tmp_path, root):
        """The formats of WMT25 and 26, of an input with several systems an item and an empty translation."""
        targets = (root / "fixtures/qe/test.mt").read_text(encoding="utf-8").splitlines()
        sources = (root / "fixtures/qe/test.src").read_text(encoding="utf-8").splitlines()
        rows = []
        for number in range(6):
            item = f"official_###_en_###_de_###_news_###_d_###_{number}"
            hyps = {
                "A": f"🙌 {targets[number]}\n{targets[number + 1]}",
                "B": targets[number],
                "C": "",
            }
            rows.append({"item_id": item, "src": sources[number], "hyps": hyps})
        data = tmp_path / "input.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        formats = ("json", "wmt25-spans", "wmt26-task1", "wmt26-task2", "wmt26-task3")
        texts = [
            predict(spans_archive, {"spans": data}, name).read_text(encoding="utf-8")
            for name in formats
        ]
        answers = [json.loads(line) for line in texts[0].splitlines()]
        table = read_segments(str(tmp_path / "wmt25-spans"))
        tasks = [json.loads(line) for text in texts[2:] for line in text.splitlines()]
        assert [task["item_id"] for task in tasks] == [row["item_id"] for row in rows] * 3
        assert any(segment.spans for segment in table) and len(table) == len(answers) == 18
        for index, (answer, segment) in enumerate(zip(answers, table)):
            number, system = index // 3, "ABC"[index % 3]
            spans, scores, decisions = (tasks[number + 6 * task] for task in range(3))
            judged = spans["task1_pred"][system]
            score_of = scores["task2_pred"][system]
            assert segment.key == ("en-de", "d", str(number), system)
            assert decisions["task3_pred"][system] == int(
                not judged["errors"] and judged["omission"] is None
            )
            if system == "C":
                assert (judged["errors"], judged["omission"], score_of) == ([], "major", 0)
                assert (segment.spans, segment.omission) == ([], "major")
                continue
            assert score_of == pytest.approx(100 * (1 - answer["sentence_score"]), abs=1e-3)
            expected = [(s["start"], s["end"], s["severity"]) for s in answer["spans"]]
            assert segment.spans == [tuple(e.values()) for e in judged["errors"]] == expected
            for span in answer["spans"]:
                text = rows[number]["hyps"][system]
                assert text[span["start"] : span["end"]] == span["text"]
        scores = score(tmp_path / "wmt26-task1", tmp_path / "wmt25-spans", "--format", "wmt-spans")
        assert scores["systems"][0]["mean"]["f1"] == scores["systems"][0]["mean"]["mpp"] == 1

    def test_a_bad_eos_is_an_omission_of_the_segment(self, spans_archive, tmp_path):
        path = tmp_path / "x.jsonl"
        segment = {"pair": "en-de", "doc": "d", "segment": 1, "system": "s"}
        path.write_text(json.dumps({**segment, "source": SOURCE, "target": TARGET}))
        archive = load_archive(
            str(spans_archive), overrides='{"validation_dataset_reader.eos": true}'
        )
        for threshold in (1e-9, 1 - 1e-9):
            options = {"output_format": "wmt26-task1", "threshold": threshold}
            predictor = Predictor.from_archive(archive, "word_qe", extra_args=options)
            (instance,) = predictor._dataset_reader.read(str(path))
            answer = predictor.predict_instance(instance)
            (judged,) = json.loads(predictor.dump_line(answer))["task1_pred"].values()
            tag = answer["tags"][-1]
            assert (tag != "OK") == (threshold < 0.5)
            assert judged["omission"] == (None if tag == "OK" else tag)
            assert all(error["end"] <= len(TARGET.rstrip()) for error in judged["errors"])

    def test_a_reader_that_leaves_segments_out_cannot_write_items(self, spans_archive):
        limit = '{"validation_dataset_reader.max_tokens": 9}'
        archive = load_archive(str(spans_archive), overrides=limit)
        with pytest.raises(ConfigurationError, match="needs a dataset_reader without max_tokens"):
            Predictor.from_archive(archive, "word_qe", extra_args={"output_format": "wmt26-task3"})

    def test_texts_of_requests_with_tabs_and_line_ends(
        self, predict, score, archive_path, tmp_path
    ):
        requests = tmp_path / "a.jsonl"
        targets = ["ja\tnein \x85 so\u2028da", "\nx\r\n "]
        rows = [json.dumps({"source": SOURCE, "target": target}) for target in targets]
        requests.write_text("\n".join(rows) + "\n")
        options = {"language_pair": "en-de", "threshold": 1e-9, "severity": "minor"}
        path = predict(archive_path, requests, "wmt23-spans", **options)
        lines = path.read_bytes().decode("utf-8").split("\n")[3:-1]
        assert lines[0].split("\t")[3:] == ["ja nein \x85 so\u2028da", "0", "15", "minor"]
        assert lines[1].split("\t")[3:] == [" x   ", "1", "2", "minor"]
        score(path, path, "--format", "wmt-spans")

    def test_explanations_by_attention(self, predict, score, archive_path):
        data = "fixtures/qe/test"
        path = predict(archive_path, data, "wmt22-explanations", explanation="attention")
        answers = predict(archive_path, data, "json", attention=True).read_text().splitlines()
        lines = path.read_text().splitlines()
        assert len(lines) == len(answers) == 200
        for line, answer in zip(lines, answers):
            attention = numpy.array(json.loads(answer)["attention"])
            steps = numpy.arange(1, 1 + len(attention)) @ attention / attention.sum(0)
            assert list(map(float, line.split())) == pytest.approx(steps.tolist())
        scores = score("fixtures/qe/test.tags", path, "--format", "wmt-explanations")
        assert all(0 < value < 1 for value in scores["systems"][0]["mean"].values())


def test_word_that_is_never_attended_to_comes_last():
    assert mean_steps([[1.0, 0.0, 0.25], [0.0, 0.0, 0.75]]) == [1.0, 3.0, 1.75]
