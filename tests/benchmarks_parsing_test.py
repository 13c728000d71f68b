"""`benchmarks/parsing.py`: its trivial baseline and its tables. Its runs are those of `benchmarks/results.py`."""

import pytest


@pytest.fixture
def program(root, monkeypatch):
    pytest.importorskip("udtools")
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import parsing

    return parsing


def treebank(*sentences):
    """CoNLL-U of sentences: a tag, a head and a label for each word."""
    text = ""
    for sentence in sentences:
        for number, (tag, head, label) in enumerate(sentence, 1):
            text += f"{number}\tw\tw\t{tag}\t_\t_\t{head}\t{label}\t_\t_\n"
        text += "\n"
    return text


@pytest.fixture
def paths(tmp_path):
    noun_verb = [("NOUN", 2, "nsubj"), ("VERB", 0, "root")]
    files = {
        "train": treebank(noun_verb, noun_verb, [("VERB", 0, "root"), ("NOUN", 1, "obj")]),
        # The noun at the end has no word after it, and the second verb would be a second root.
        "test": treebank([("NOUN", 2, "nsubj"), ("VERB", 0, "root"), ("NOUN", 2, "nsubj")])
        + treebank([("VERB", 0, "root"), ("VERB", 1, "conj")]),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.conllu").write_text(text)
    return {name: str(tmp_path / f"{name}.conllu") for name in files}


def test_trivial_baseline_attaches_by_the_part_of_speech_and_gives_trees(program, paths):
    import numpy

    counts = numpy.array(program.most_frequent(paths["train"], paths["test"])).sum(0)
    scores = program.TREES.scores(counts)
    assert scores["uas"] == pytest.approx(5 / 5)
    assert scores["las"] == pytest.approx(4 / 5)  # the second verb has the label root


def test_table_has_scores_the_baseline_and_differences(program, paths):
    counts = program.most_frequent(paths["train"], paths["test"])
    answers = [
        {"heads": [0, 1, 2], "labels": ["root", "obj", "obj"]},
        {"heads": [0, 1], "labels": ["root", "conj"]},
    ]
    other = program.counts_of(paths["test"], answers)
    baseline = {"dev": counts, "test": counts}
    results = {}
    for name, each in (("a", other), ("b", counts)):
        by_kind = {program.GOLD: {"dev": each, "test": each}}
        results[name] = [{"counts": by_kind, "seconds": 60.0}] * 2
    text = program.table(results, program.GOLD, baseline)
    row = next(line for line in text.splitlines() if line.startswith("| `a` |"))
    assert "| 60.00 ± 0.00 | 40.00 ± 0.00 |" in row and "| 2 | 1.0 min |" in row
    assert "| most frequent | 100.00 | 80.00 |" in text
    assert "| `b` minus `a` | +40.00 |" in text
