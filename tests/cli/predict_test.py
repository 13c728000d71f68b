"""`predict` and `evaluate`: batches, standard input, and tags that are written in the format of the data."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allennlp_nef import load
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.qe.files import ReadOptions, read_examples
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"
REQUESTS = [
    {"source": "the doctors see three cups .", "target": "die Schwestern sehen drei Tassen ."},
    {"source": ["a", "cup"], "target": ["eine", "Tasse"], "alignments": "0-0 1-1"},
    {"source": "the K\u00fcche", "target": "die \u200b \u0142"},
]


@pytest.fixture
def predict(nef, tmp_path):
    """`predict(archive, input, *options)`: the text that the program writes."""

    def run(archive, path, *options):
        output = tmp_path / "output.txt"
        options = (*options, "--silent", "--output-file", output)
        assert nef("predict", archive, path, *options) == 0
        return output.read_text(encoding="utf-8")

    return run


@pytest.fixture
def evaluate(nef, tmp_path):
    """`evaluate(archive, data)`: the metrics."""

    def run(archive, data, *options):
        path = tmp_path / "metrics.json"
        assert nef("evaluate", archive, data, "--output-file", path, *options) == 0
        return json.loads(path.read_text())

    return run


def test_requests_are_read_from_standard_input(predict, archive_path, monkeypatch):
    lines = "".join(json.dumps(request) + "\n" for request in REQUESTS)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    text = predict(archive_path, "-", "--predictor-args", '{"output_format": "text"}')
    words = text.replace("/BAD", "")
    assert words == "die Schwestern sehen drei Tassen .\neine Tasse\ndie \u200b \u0142\n"


def test_answers_of_batches_are_those_one_by_one(predict, archive_path, tmp_path, monkeypatch):
    forward, sizes = NefTagger.forward_on_instances, []

    def count(self, instances):
        sizes.append(len(instances))
        return forward(self, instances)

    monkeypatch.setattr(NefTagger, "forward_on_instances", count)
    path = tmp_path / "requests.jsonl"
    requests = (REQUESTS[number % 3] for number in range(70))
    # With blank lines, and characters that are not ASCII as they are.
    text = "\n\n".join(json.dumps(request, ensure_ascii=False) for request in requests)
    path.write_text(text, encoding="utf-8")
    single = predict(archive_path, path, "--batch-size", 1)
    assert sizes == [1] * 70
    sizes.clear()
    answers = list(map(json.loads, predict(archive_path, path).splitlines()))
    assert sizes == [64, 6]
    for answer, expected in zip(answers, map(json.loads, single.splitlines()), strict=True):
        assert answer.keys() == expected.keys() and answer["tags"] == expected["tags"]
        probabilities = expected["bad_probabilities"]
        assert answer["bad_probabilities"] == pytest.approx(probabilities, abs=1e-5)


def test_errors_name_the_line_and_keep_the_output(nef, ner_archive, tmp_path, capsys):
    """An output that exists is replaced only by all answers, and never if it is the input."""
    good, bad, output = (tmp_path / name for name in ("good.txt", "bad.txt", "out"))
    good.write_text("Anna\n\n\u0142odz\n", encoding="utf-8")
    bad.write_bytes(b"a\n\n\xe9\n")
    options = ("--predictor-args", '{"input_format": "text", "output_format": "conll"}')
    output.write_text("old")
    for path, target, wrong, *others in (
        (bad, output, f"{bad}:3: "),
        (good, good, f"{good}: "),
        (tmp_path / "none", output, f"{tmp_path}/none: "),
        (good, output, "--batch-size", "--batch-size", 0),
        (good, output, "--predictor-args", "--predictor-args", "[1]"),
    ):
        arguments = ("--silent", "--output-file", target, *options, *others)
        assert nef("predict", ner_archive, path, *arguments) == 2
        assert wrong in capsys.readouterr().err.splitlines()[-1]
        assert output.read_text() == "old" and good.stat().st_size
    locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "allennlp_nef", "predict", ner_archive, good, *options]
    subprocess.run([*command, "--output-file", output], env=locale, cwd=ROOT, check=True)
    words = [line.split(" ")[0] for line in output.read_text("utf-8").split("\n\n")]
    assert words == ["Anna", "\u0142odz", ""]


@pytest.mark.parametrize(
    "archive, data, output_format, score",
    [
        ("ner_archive", "ner/dev.conll", "conll", "f1-overall"),
        ("pos_archive", "pos/dev.conllu", "conllu", "accuracy"),
        ("archive_path", "qe/dev", "tags", "f1_mult"),
    ],
)
def test_predicted_tags_are_data_on_which_they_are_right(
    predict, evaluate, request, tmp_path, archive, data, output_format, score
):
    archive, data = request.getfixturevalue(archive), FIXTURES / data
    options = {"output_format": output_format}
    text = predict(archive, data, "--use-dataset-reader", "--predictor-args", json.dumps(options))
    path = tmp_path / "predicted"
    if output_format == "tags":
        for ending in ("src", "mt", "src-mt.alignments"):
            shutil.copy(f"{data}.{ending}", f"{path}.{ending}")
        Path(f"{path}.tags").write_text(text)
    else:
        path.write_text(text, encoding="utf-8")
    metrics = evaluate(archive, path)
    assert metrics[score] == 1 and metrics["accuracy"] == 1


@pytest.mark.parametrize(
    "archive, data", [("ner_archive", "ner/dev.conll"), ("pos_archive", "pos/dev.conllu")]
)
def test_outputs_of_all_batches_are_written(evaluate, request, tmp_path, archive, data):
    path = tmp_path / "outputs.jsonl"
    archive = request.getfixturevalue(archive)
    evaluate(archive, FIXTURES / data, "--predictions-output-file", path)
    batches = list(map(json.loads, path.read_text().splitlines()))
    assert sum(len(batch["tags"]) for batch in batches) == 100


def test_scores_are_printed_or_written(nef, archive_path, tmp_path, capsys):
    data = str(FIXTURES / "qe" / "dev")
    assert nef("evaluate", archive_path, data) == 0
    printed = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert nef("evaluate", archive_path, data, "--output-file", tmp_path / "scores") == 0
    scores = json.loads((tmp_path / "scores").read_text())
    assert printed == {name: f"{score:.4f}" for name, score in scores.items()}
    assert capsys.readouterr().out == ""
    for ending in ("src", "mt"):
        shutil.copy(f"{data}.{ending}", tmp_path / f"plain.{ending}")
    assert nef("evaluate", archive_path, tmp_path / "plain") == 2
    assert "expected gold labels" in capsys.readouterr().err


def f1(predicted, gold, label):
    """2 |predicted and gold| / (|predicted| + |gold|)"""
    hits = sum(p == g == label for p, g in zip(predicted, gold))
    return 2 * hits / (predicted.count(label) + gold.count(label))


def test_metrics_are_those_of_the_predicted_tags(evaluate, archive_path, tmp_path):
    prefix, path = str(FIXTURES / "qe" / "test"), tmp_path / "outputs.jsonl"
    metrics = evaluate(archive_path, prefix, "--predictions-output-file", path)
    batches = list(map(json.loads, path.read_text().splitlines()))
    predictor, examples = load(str(archive_path)), read_examples(prefix, ReadOptions())
    gold = [tag for example in examples for tag in example.tags]
    answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(prefix)))
    predicted = [tag for answer in answers for tag in answer["tags"]]
    assert predicted == [tag for batch in batches for tags in batch["tags"] for tag in tags]
    f1_ok, f1_bad = (f1(predicted, gold, label) for label in ("OK", "BAD"))
    assert f1_bad > 0
    assert metrics["f1_ok"] == pytest.approx(f1_ok)
    assert metrics["f1_bad"] == pytest.approx(f1_bad)
    assert metrics["f1_mult"] == pytest.approx(f1_ok * f1_bad)
    hits = sum(p == g for p, g in zip(predicted, gold))
    assert metrics["accuracy"] == pytest.approx(hits / len(gold))
