"""`calibrate --halting`: the new archive halts as the figures say."""

import json

import pytest

from allennlp_nef.cli.archive_files import read_config


@pytest.mark.parametrize(
    "archive, data, kind, score",
    [
        ("pos_archive", "fixtures/pos/dev.conllu", "confident", "accuracy"),
        ("ner_archive", "fixtures/ner/dev.conll", "settled", "f1-overall"),
        ("archive_path", "fixtures/qe/dev", "fixed", None),  # its threshold changes, too
    ],
)
def test_scores_of_the_new_archive_are_those_of_the_figures(
    allennlp, request, capsys, tmp_path, archive, data, kind, score
):
    output, scores = tmp_path / "new.tar.gz", tmp_path / "scores.json"
    old = request.getfixturevalue(archive)
    capsys.readouterr()  # of its training
    allennlp(
        *("calibrate", old, data, "--output", output, "--json"),
        *("--halting", kind, "--tolerance", "2"),
    )
    figures = json.loads(capsys.readouterr().out)["halting"]
    assert figures["options"]["type"] == kind and figures["tolerance"] == pytest.approx(0.02)
    assert figures["chosen"]["score"] >= figures["without"]["score"] - 0.02
    assert 1 <= figures["chosen"]["mean_steps"] < figures["without"]["mean_steps"]
    config = read_config(str(output))
    assert config["model"]["halting"] == figures["options"]
    allennlp("evaluate", output, data, "--output-file", scores)
    found = json.loads(scores.read_text())
    assert found["mean_steps"] == pytest.approx(figures["chosen"]["mean_steps"])
    if score:
        assert found[score] == pytest.approx(figures["chosen"]["score"])
    allennlp("evaluate", old, data, "--output-file", scores)
    if score:
        assert json.loads(scores.read_text())[score] == pytest.approx(figures["without"]["score"])


def test_report_has_the_halting(allennlp, pos_archive, capsys, tmp_path):
    output = tmp_path / "new.tar.gz"
    arguments = pos_archive, "fixtures/pos/dev.conllu", "--output", output
    allennlp("calibrate", *arguments, "--halting", "fixed", "--tolerance", "1")
    lines = capsys.readouterr().out.splitlines()
    (start,) = (i for i, line in enumerate(lines) if line.startswith("halting: fixed, max_steps "))
    assert [line.split()[0] for line in lines[start + 1 : start + 4]] == [
        "all",
        "halting",
        "cross-fitted",
    ]


def test_a_model_without_steps_is_an_error(failure, spans_archive, tmp_path):
    output = tmp_path / "new.tar.gz"
    error = failure("calibrate", spans_archive, "--output", output, "--halting", "fixed")
    assert "--halting: expected a model with the decoder neural_easy_first" in error
    assert not output.exists()
