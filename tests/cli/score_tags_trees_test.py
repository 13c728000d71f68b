"""`score-tags --trees`, with figures of the official evaluation. They need the package udtools."""

import json
import sys

import pytest

from allennlp_nef.errors import UserError
from allennlp_nef.metrics.tree_scores import TREES

COLUMNS = "{}\t{}\t{}\t{}\t_\t_\t{}\t{}\t_\t_"
WORDS = ["The dog saw the big cat .", "It slept"]
GOLD = [
    [("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root"), ("DET", 6, "det")]
    + [("ADJ", 6, "amod"), ("NOUN", 3, "obj:x"), ("PUNCT", 3, "punct")],
    [("PRON", 2, "nsubj"), ("VERB", 0, "root")],
]
PREDICTED = [
    [("DET", 2, "det"), ("NOUN", 3, "obj"), ("VERB", 0, "root"), ("DET", 5, "det")]
    + [("ADJ", 6, "amod"), ("NOUN", 3, "obj"), ("PUNCT", 3, "punct")],
    [("PRON", 2, "nsubj"), ("AUX", 0, "root")],
]


def rows(trees):
    return [
        [
            tuple(COLUMNS.format(i, word, word.lower(), *node).split("\t"))
            for i, (word, node) in enumerate(zip(words.split(), tree), 1)
        ]
        for words, tree in zip(WORDS, trees)
    ]


def write(path, trees):
    blocks = ("\n".join(map("\t".join, sentence)) + "\n\n" for sentence in rows(trees))
    path.write_text("".join(blocks), encoding="utf-8")
    return str(path)


def test_scores_are_those_of_the_official_evaluation():
    """UAS 8 of 9 words, LAS 7 (obj:x counts as obj); CLAS leaves out det and punct, MLAS wants tags and functions."""
    pytest.importorskip("udtools")
    counts = TREES.count(rows(GOLD), rows(PREDICTED)).sentences
    assert counts.shape == (2, 15)
    scores = {
        name: round(float(100 * score), 2) for name, score in TREES.scores(counts.sum(0)).items()
    }
    assert scores == {"uas": 88.89, "las": 77.78, "clas": 83.33, "mlas": 33.33, "blex": 83.33}


def test_command_prints_scores_and_compares_systems(tmp_path, score):
    pytest.importorskip("udtools")
    gold, predicted = write(tmp_path / "g", GOLD), write(tmp_path / "p", PREDICTED)
    printed = score(gold, predicted, "--format", "conllu", "--trees")
    assert "processed 9 words in 2 sentences" in printed and "LAS:  77.78" in printed
    assert "\n    83.33   83.33   83.33        6          6  CLAS\n" in printed
    printed = score(gold, predicted, gold, "--format", "conllu", "--trees")
    assert "\nUAS " in printed and "\nLAS " in printed
    printed = score(gold, predicted, "--format", "conllu", "--trees", "--json")
    assert json.loads(printed)["systems"][0]["mean"]["las"] == pytest.approx(7 / 9)


def test_long_chains_of_heads_are_scored():
    pytest.importorskip("udtools")
    limit, words = sys.getrecursionlimit(), 2 * sys.getrecursionlimit()
    nodes = [
        COLUMNS.format(i, "w", "w", "X", (i + 1) % (words + 1), "x") for i in range(1, words + 1)
    ]
    chain = [[tuple(node.split("\t")) for node in nodes]]
    assert TREES.scores(TREES.count(chain, chain).sentences.sum(0))["las"] == 1
    assert sys.getrecursionlimit() == limit


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "udtools.udeval", None)
    with pytest.raises(UserError, match=r"pip install 'allennlp_nef\[trees\]'"):
        TREES.count(rows(GOLD), rows(GOLD))
