"""`predict`: batches, standard input and submissions."""

import io
import json
import sys

import pytest

REQUESTS = [
    {"source": "the doctors see three cups .", "target": "die Schwestern sehen drei Tassen ."},
    {"source": ["a", "cup"], "target": ["eine", "Tasse"], "alignments": "0-0 1-1"},
    {
        "source": "the Küche",
        "target": "die \u200b \u0142",
        "alignments": [[0, 0]],
        "attention": True,
    },
]


def write_requests(folder, requests):
    """With a blank line, and what is not ASCII as it is where UTF-8 has bytes for it."""
    lines = []
    for request in requests:
        line = json.dumps(request, ensure_ascii=False)
        lines.append(line.encode("utf-8", "backslashreplace").decode("utf-8"))
    path = folder / "requests.jsonl"
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_requests_are_read_from_standard_input(allennlp, archive_path, tmp_path, monkeypatch):
    lines = "".join(json.dumps(request) + "\n" for request in REQUESTS)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    output = tmp_path / "output.txt"
    allennlp(
        *("predict", archive_path, "-", "--output-file", output),
        *("--predictor-args", '{"output_format": "text"}'),
    )
    text = output.read_text(encoding="utf-8").replace("/BAD", "")
    assert text == "die Schwestern sehen drei Tassen .\neine Tasse\ndie \u200b \u0142\n"


@pytest.fixture
def predict(console, archive_path, tmp_path):
    """`predict(*arguments)`: the answers."""

    def run(*arguments):
        output = tmp_path / "new" / "answers.jsonl"
        arguments = ("--silent", "--output-file", output, *arguments)
        status, _, err = console("predict", archive_path, *arguments)
        assert status == 0, err
        return [json.loads(line) for line in output.read_text().splitlines()]

    return run


def assert_same(answers, expected):
    assert len(answers) == len(expected)
    for answer, other in zip(answers, expected):
        assert answer.keys() == other.keys() and answer["tags"] == other["tags"]
        for name in {"bad_probabilities", "attention"} & answer.keys():
            for row, row2 in zip(*(each[name] or [] for each in (answer, other))):
                assert row == pytest.approx(row2, abs=1e-5)


@pytest.fixture
def sizes(monkeypatch):
    """The sentences of each batch."""
    from allennlp_nef.models import NefTagger

    forward, seen = NefTagger.forward_on_instances, []

    def count(self, instances):
        seen.append(len(instances))
        return forward(self, instances)

    monkeypatch.setattr(NefTagger, "forward_on_instances", count)
    return seen


def test_answers_are_those_one_by_one(predict, sizes, tmp_path):
    requests = [REQUESTS[number % 3] for number in range(70)]
    path = write_requests(tmp_path, requests)
    expected = predict(path, "--batch-size", 1)
    assert sizes == [1] * 70
    sizes.clear()
    assert_same(predict(path), expected)
    # Sentences with a trace and without one go apart.
    assert len(sizes) < 60
    no_lists = '{"max_batch": 1, "on_error": "skip"}'  # a limit for lists of requests
    assert_same(predict(path, "--predictor-args", no_lists), expected)


def test_answers_need_not_fit_into_memory_together(word_qe, monkeypatch):
    predictor = word_qe(batch_size=2)
    lines = [predictor.load_line(json.dumps(request)) for request in REQUESTS[:2] * 3]
    read = []
    to_instance = predictor.to_instance
    monkeypatch.setattr(predictor, "to_instance", lambda r: read.append(r) or to_instance(r))
    answers = predictor.iterate_answers(lines)
    next(answers)
    assert len(read) == 3
    assert len(list(answers)) == 5


def test_predictors_of_others_get_one_request_at_a_time(
    console, allennlp, small, tmp_path, monkeypatch
):
    from allennlp.predictors import TextClassifierPredictor

    calls = []
    monkeypatch.setattr(
        TextClassifierPredictor, "predict_json", lambda self, request: calls.append(request) or {}
    )
    limits = {"validation_dataset_reader.max_instances": 4}
    config = "training_configs/trec_lstm.jsonnet"
    allennlp("train", config, "-s", tmp_path / "run", *small(8, epochs=1, **limits))
    path = tmp_path / "requests.jsonl"
    path.write_text('{"sentence": "a"}\n' * 3)
    archive = tmp_path / "run" / "model.tar.gz"
    status, out, err = console("predict", archive, path, "--predictor", "text_classifier")
    assert (status, len(calls), out.count("prediction:")) == (0, 3, 3), err
