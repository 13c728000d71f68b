"""`benchmarks/explanations.py`, on the fixtures."""

import sys

import numpy
import pytest
import torch


@pytest.fixture
def script(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import explanations

    return explanations


def test_table_has_the_scores_of_each_row(
    script, archive_path, root, monkeypatch, capsys, tmp_path
):
    for ending in ("src", "mt", "tags", "src-mt.alignments"):
        lines = (root / f"fixtures/qe/test.{ending}").read_text(encoding="utf-8").splitlines()
        (tmp_path / f"test.{ending}").write_text("\n".join(lines[:20]) + "\n", encoding="utf-8")
    path, data = str(archive_path), str(tmp_path / "test")
    monkeypatch.setattr(sys, "argv", ["explanations.py", path, path, "--data", data])
    script.main()
    first, _, head, _, *lines = capsys.readouterr().out.splitlines()
    assert first == "20 sentences, of them 16 with both tags; 2 archives"
    assert head == "| row | recall at K | AUC | average precision |"
    rows = {name: cells for name, *cells in (line.strip("| ").split(" | ") for line in lines)}
    assert [name for name in rows if not name.startswith("saliency")] == [
        *("random", "length", "attention, sum", "attention, first step", "attention, mean step"),
        "probability of BAD",
    ]
    assert len(rows) == 9 and all(len(cells) == 3 for cells in rows.values())
    assert float(rows["random"][1]) == pytest.approx(50, abs=10)
    # The model is trained for three epochs, so it is little above chance.
    assert float(rows["probability of BAD"][1].split(" ")[0]) > 55
    assert rows["length"][1].endswith(" ± 0.00")


def test_saliency_is_the_change_of_the_score(script, word_qe):
    """The score of a sentence changes by the sum of the products where the vectors of its words are scaled."""
    predictor = word_qe()
    requests = [{"source": "a b", "target": target} for target in ("das Haus .", "rot")]
    instances = list(map(predictor._prepared, predictor.instances_of(requests)))
    model = predictor._model
    found = script.saliency_of(model, instances)
    assert [len(row) for row in found["saliency, product"]] == [3, 1]
    scores = []
    for factor in (1.01, 0.99):
        embedder = model.input_representation.target_embedder
        with torch.no_grad():
            handle = embedder.register_forward_hook(lambda *call, by=factor: by * call[-1])
            scores.append(
                [answer["sentence_score"] for answer in predictor._predict_list(requests)]
            )
            handle.remove()
    changes = (numpy.array(scores[0]) - scores[1]) / 0.02
    assert changes == pytest.approx([sum(row) for row in found["saliency, product"]], rel=0.02)
