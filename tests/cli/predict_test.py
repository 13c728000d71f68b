"""`predict` and `evaluate`: batches, standard input, and tags that are written in the format of the data."""

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allennlp_nef.models.nef_tagger import NefTagger
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


def test_requests_are_read_from_standard_input_in_batches(predict, archive_path, monkeypatch):
    """With blank lines, and characters that are not ASCII as they are."""
    forward, sizes = NefTagger.forward_on_instances, []

    def count(self, instances):
        sizes.append(len(instances))
        return forward(self, instances)

    monkeypatch.setattr(NefTagger, "forward_on_instances", count)
    lines = "\n\n".join(json.dumps(request, ensure_ascii=False) for request in REQUESTS * 23)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    text = predict(archive_path, "-", "--predictor-args", '{"output_format": "text"}')
    words = text.replace("/BAD", "")
    assert words == "die Schwestern sehen drei Tassen .\neine Tasse\ndie \u200b \u0142\n" * 23
    assert sizes == [64, 5]


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
    words = [line.split("\t")[0] for line in output.read_text("utf-8").split("\n\n")]
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
    outputs = tmp_path / "outputs.jsonl"
    metrics = evaluate(archive, path, "--predictions-output-file", outputs)
    assert metrics[score] == 1 and metrics["accuracy"] == 1
    batches = list(map(json.loads, outputs.read_text().splitlines()))
    assert sum(len(batch["tags"]) for batch in batches) == (200 if output_format == "tags" else 100)


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


def test_requests_from_a_pipe_are_answered_as_they_arrive(small_run):
    """Also a line that is not UTF-8, with `on_error`."""
    command = [sys.executable, "-m", "allennlp_nef", "predict", small_run(), "-"]
    command += ["--output-file", "-", "--predictor-args", '{"on_error": "skip"}']
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        for line, field in (
            (b'{"sentence": "Anna slept .", "id": 1}\n', "tags"),
            (b'\n{"sentence": "\xe9"}\n', "error"),
            (b'{"sentence": "Paul slept .", "id": 2}\n', "tags"),
        ):
            process.stdin.write(line)
            process.stdin.flush()
            assert field in json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(60) == 0


class TestPredictors:
    def test_a_predictor_of_the_user_may_be_named_by_its_module(
        self, nef, small_run, tmp_path, monkeypatch, capsys
    ):
        """A type with dots in the config of an archive is still refused."""
        (tmp_path / "predictor_of_a_user.py").write_text(
            "from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor\n\n\n"
            "class Mine(NefTaggerPredictor):\n"
            "    def dump_line(self, outputs):\n"
            "        return 'mine\\n'\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        (tmp_path / "requests.jsonl").write_text('{"sentence": "Paul slept ."}\n')
        dotted = ("--predictor", "predictor_of_a_user.Mine")
        splitter = {"tokenizer": "allennlp.data.tokenizers.WhitespaceTokenizer"}
        run = tmp_path / "run"
        shutil.copytree(small_run(), run)
        arguments = ("predict", run, tmp_path / "requests.jsonl", "--silent", "--output-file")
        assert nef(*arguments, tmp_path / "out", *dotted) == 0
        assert (tmp_path / "out").read_text() == "mine\n"
        options = ("--predictor-args", json.dumps(splitter))
        assert nef(*arguments, tmp_path / "out", *options) == 0
        config = json.loads((run / "config.json").read_text())
        config["model"]["type"] = "predictor_of_a_user.Mine"
        (run / "config.json").write_text(json.dumps(config))
        assert nef(*arguments, tmp_path / "out") == 2
        assert "predictor_of_a_user.Mine" in capsys.readouterr().err

    def test_a_predictor_of_allennlp_answers_in_batches(self, nef, small_run, tmp_path, capsys):
        from allennlp.predictors import Predictor

        sizes = []

        @Predictor.register("echo", exist_ok=True)
        class Echo(Predictor):
            def predict_json(self, inputs):
                sizes.append(1)
                return inputs

            def predict_batch_json(self, inputs):
                sizes.append(len(inputs))
                return inputs

        path, target = tmp_path / "requests.jsonl", tmp_path / "out"
        path.write_text('{"a": 1}\n\n{"a": 2}\n{"a": 3}\n')
        options = ("--predictor", "echo", "--batch-size", 2, "--output-file", target)
        assert nef("predict", small_run(), path, *options) == 0
        assert target.read_text() == '{"a": 1}\n{"a": 2}\n{"a": 3}\n' and sizes == [2, 1]
        assert capsys.readouterr().out.startswith('input 0:  {"a": 1}\nprediction:  {"a": 1}\n')
        path.write_text('{"a": 1}\n{\n')
        assert nef("predict", small_run(), path, *options) == 2
        assert f"{path}:2: " in capsys.readouterr().err


def test_only_answers_about_words_are_a_reason_to_calibrate(
    nef, small_run, tmp_path, caplog, monkeypatch
):
    """Not an empty input, nor one whose requests all fail."""
    path = tmp_path / "requests.jsonl"
    # No word reaches it.
    monkeypatch.setattr("allennlp_nef.qe.model.WordQeTagger.threshold_or_default", 1.1)
    options = ("--silent", "--output-file", tmp_path / "out")
    options += ("--predictor-args", '{"on_error": "skip"}')
    for text, number in (("", 0), ("{}\n", 0), (json.dumps(REQUESTS[0]), 1)):
        path.write_text(text)
        caplog.clear()
        assert nef("predict", small_run("qe"), path, *options) == 0
        assert sum("calibrate" in each.message for each in caplog.records) == number


@pytest.mark.parametrize("ending", ["src", "mt", "tags"])
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_data_are_not_replaced(nef, tmp_path, capsys, command, ending):
    for each in ("src", "mt", "tags"):
        shutil.copy(FIXTURES / "qe" / f"dev.{each}", tmp_path / f"a.{each}")
    path = tmp_path / f"a.{ending}"
    before = path.read_bytes()
    options = ("--use-dataset-reader",) if command == "predict" else ()
    assert nef(command, "none", tmp_path / "a", *options, "--output-file", path) == 2
    assert str(path) in capsys.readouterr().err and path.read_bytes() == before


@pytest.mark.parametrize("command", ["predict", "review", "evaluate"])
def test_the_archive_is_not_replaced(nef, tmp_path, command, capsys):
    archive, data = tmp_path / "m.tar.gz", tmp_path / "x.tsv"
    archive.write_text("model")
    data.write_text("a\tb\n")
    arguments = {
        "predict": [archive, data, "--output-file", archive],
        "review": [data, "--archive", archive, "--output", archive],
        "evaluate": [archive, data, "--output-file", archive],
    }
    assert nef(command, *arguments[command]) == 2
    assert "replace" in capsys.readouterr().err and archive.read_text() == "model"
