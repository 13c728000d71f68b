"""`benchmarks/sentences.py`: its data and its tables. Its runs are those of `benchmarks/results.py`."""

from pathlib import Path

import pytest


@pytest.fixture
def program(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import sentences

    return sentences


def test_dev_of_trec_is_the_end_of_the_training_data(program, tmp_path):
    data, output = tmp_path / "data", tmp_path / "output"
    data.mkdir()
    lines = [f"HUM:ind Who {number} ?\n" for number in range(510)]
    (data / "train.txt").write_text("".join(lines))
    files = program.files_of(program.TASKS["trec"], data, output)
    assert list(files) == ["train", "dev", "test"]
    assert Path(files["train"]).read_text() == "".join(lines[:10])
    assert Path(files["dev"]).read_text() == "".join(lines[10:])
    assert files["test"] == str(data / "test.txt")


def result(pairs):
    return {"dev": pairs, "test": pairs, "seconds": 60.0}


def test_table_has_accuracies_the_majority_and_differences(program):
    good, bad = [["A", "A"], ["B", "B"]] * 4, [["A", "B"], ["B", "B"]] * 4
    text = program.tables({"a": [result(bad)], "b": [result(good)]}, "A")
    assert "| majority | 50.00 | 50.00 |  |  |" in text
    assert "| `a` | 50.00 | 50.00 | 1 | 1.0 min |" in text
    assert "| `b` | 100.00 | 100.00 | 1 | 1.0 min |" in text
    assert "| `b` minus `a` | +50.00 |" in text


def test_table_of_scores_has_correlations(program):
    right, wrong = [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]], [[1.0, 4.0], [2.0, 2.0], [4.0, 1.0]]
    text = program.tables({"a": [result(wrong)] * 2, "b": [result(right)] * 2}, None)
    assert "majority" not in text
    assert "| `b` | 100.00 ± 0.00 | 100.00 ± 0.00 | 2 | 1.0 min |" in text
