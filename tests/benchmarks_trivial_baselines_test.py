"""`benchmarks/trivial_baselines.py`, on a few sentences."""

import json
import sys

import pytest

QE_FILES = {
    "train": ("a b\na b\na c\na\n", "BAD OK\nBAD OK\nOK BAD\nOK\n"),  # "a": OK as often as BAD
    "dev": ("b c\na d\n", "OK BAD\nBAD BAD\n"),
    "test20": ("c\n", "OK BAD OK\n"),
}


@pytest.fixture
def script(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import trivial_baselines

    return trivial_baselines


@pytest.fixture
def run(script, monkeypatch, capsys, tmp_path):
    """`run(task, *options)`: the table that is printed, and the JSON."""

    def run(task, *options):
        path = tmp_path / "scores.json"
        arguments = [task, "--data", str(tmp_path), "--json", str(path), *options]
        monkeypatch.setattr(sys, "argv", ["trivial_baselines.py", *arguments])
        script.main()
        return capsys.readouterr().out, json.loads(path.read_text())

    return run


def test_scores_of_quality_estimation(run, tmp_path):
    for name, (words, tags) in QE_FILES.items():
        for ending, text in (("src", words), ("mt", words), ("tags", tags)):
            (tmp_path / f"{name}.{ending}").write_text(text)
    printed, scores = run("qe")
    # Predicted for dev: OK BAD, BAD OK ("a" is BAD by name, "d" is unknown and OK is most frequent).
    expected = {"f1_mult": 53.3333, "mcc": 57.735, "f1_bad": 80, "f1_ok": 66.6667}
    assert scores["most frequent tag"]["dev"] == pytest.approx(expected, abs=1e-3)
    assert scores["all BAD"]["dev"]["f1_bad"] == pytest.approx(100 * 6 / 7, abs=1e-3)
    assert scores["all OK"]["dev"]["f1_ok"] == pytest.approx(40)
    # 3 of 7 words are BAD in training: of 3 BAD words of dev 9/7 are found, and 3/7 of the one that is OK.
    assert scores["random"]["dev"]["f1_bad"] == pytest.approx(
        100 * 2 * 9 / 7 / (3 + 12 / 7), abs=1e-3
    )
    assert scores["random"]["dev"]["mcc"] == 0
    lines = printed.splitlines()
    assert lines[0].startswith("| baseline | dev F1-MULT | test F1-MULT | dev MCC |")
    assert lines[2].startswith("| most frequent tag | 53.33 | 0.00 | 57.73 |")


def test_scores_of_parts_of_speech(run, tmp_path):
    def conllu(*words):
        rows = (f"{i}\t{w}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for i, (w, tag) in enumerate(words, 1))
        return "".join(rows) + "\n"

    training = conllu(("a", "DET"), ("b", "NOUN")) + conllu(("b", "NOUN"), ("b", "VERB"))
    (tmp_path / "x-train.conllu").write_text(training)
    (tmp_path / "x-dev.conllu").write_text(conllu(("a", "DET"), ("b", "VERB"), ("new", "NOUN")))
    (tmp_path / "x-test.conllu").write_text(conllu(("a", "DET")))
    _, scores = run("pos")
    assert scores == {
        "most frequent tag": {
            "dev": {"accuracy": pytest.approx(66.6667)},
            "test": {"accuracy": 100},
        }
    }


def test_named_entities_are_scored_as_chunks(run, tmp_path):
    training = "Nürn B-LOC\nBerg I-LOC\nis O\nBerg O\nBerg I-LOC\n\nof O\n\n"
    held_out = "in O\nNürn B-LOC\nBerg I-LOC\n\nBerg B-ORG\n\n"
    for part, text in (("train", training), ("testa", held_out), ("testb", "Nürn B-LOC\n\n")):
        (tmp_path / f"deu.{part}").write_text(text, encoding="latin-1")
    _, scores = run("ner", "--language", "deu", "--encoding", "latin-1")
    # Predicted for dev: O B-LOC I-LOC, and I-LOC, which is a chunk of another type than the gold one.
    assert scores["most frequent tag"]["dev"]["f1-overall"] == pytest.approx(50)
    assert scores["most frequent tag"]["test"]["f1-overall"] == 100
