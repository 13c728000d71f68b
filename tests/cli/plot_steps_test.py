"""`plot-steps`: the table and the plot of scores over steps and time."""

import json

import pytest

DATA = "fixtures/pos/dev.conllu"


@pytest.fixture(scope="module")
def results(allennlp, pos_archive, tmp_path_factory):
    """The folder, and what steps.json has."""
    folder = tmp_path_factory.mktemp("steps") / "out"
    allennlp("plot-steps", pos_archive, DATA, "--output", folder, "--repeat", 1)
    return folder, json.loads((folder / "steps.json").read_text())


def test_all_files_are_written(results):
    folder, data = results
    assert {path.name for path in folder.iterdir()} == {
        f"steps.{e}" for e in ("json", "txt", "png", "svg")
    }
    lines = (folder / "steps.txt").read_text().splitlines()
    assert lines[0].startswith("NEF-F csoftmax, N = L: ")
    assert lines[2].split() == ["halting", "mean", "steps", "accuracy", "%", "ms", "a", "sentence"]
    assert len(lines) == 3 + len(data["rows"])
    assert ">confident<" in (folder / "steps.svg").read_text()


def test_rows_are_those_of_evaluate(results, allennlp, pos_archive, tmp_path):
    rows = results[1]["rows"]
    assert all(row["milliseconds"] > 0 for row in rows)
    chosen = [rows[0], rows[-1], *(row for row in rows if row["name"] == "settled: threshold 0.9")]
    for row in chosen:
        options = ["-o", json.dumps({"model.halting": row["halting"] or {"type": "fixed"}})]
        path = tmp_path / "scores.json"
        allennlp("evaluate", pos_archive, DATA, "--output-file", path, *options)
        scores = json.loads(path.read_text())
        assert row["score"] == pytest.approx(scores["accuracy"])
        assert row["mean_steps"] == pytest.approx(scores["mean_steps"])
    assert rows[0]["mean_steps"] == 1 < rows[-1]["mean_steps"]
    for kind in ("fixed", "confident"):
        means = [row["mean_steps"] for row in rows if (row["halting"] or {}).get("type") == kind]
        assert len(means) > 3 and means == sorted(means)


def test_a_model_without_steps_is_an_error(failure, spans_archive, tmp_path):
    error = failure("plot-steps", spans_archive, DATA, "--output", tmp_path / "out")
    assert "expected a model with the decoder neural_easy_first, got" in error
