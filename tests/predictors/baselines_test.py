"""Label attention and position-aware self-attention, from training to answers and plots."""

import json

import pytest


def test_trace_of_label_attention_has_a_row_for_each_layer(predictor_of, baselines):
    predictor = predictor_of(baselines["pos_lan"])
    trace = predictor.trace("Paul dort .")
    assert trace.attention is trace.coverage is trace.most_attended_at is None
    assert len(trace.provisional_tags) == 3  # layers, the last one the output
    answer = predictor.predict_json({"sentence": "Paul dort .", "trace": True, "attention": True})
    assert answer["attention"] is None
    assert answer["trace"] == json.loads(json.dumps(trace.to_json()))
    assert answer["trace"]["provisional_tags"][-1] == answer["tags"]
    assert "distributions" not in answer["trace"]
    labels = predictor.description()["labels"]
    assert trace.distributions.shape == (3, 3, len(labels))
    assert trace.distributions.sum(-1) == pytest.approx(1, abs=1e-5)
    assert trace.distributions.max(-1) == pytest.approx(trace.provisional_probabilities)
    best = [[labels[tag] for tag in row] for row in trace.distributions.argmax(-1)]
    assert best == trace.provisional_tags
    assert predictor.description()["title"] == "BiLSTM-LAN, 3 layers"
    assert predictor.description()["step_name"] == "layer"
    assert trace.plot().axes[0].get_ylabel() == "layer"
    assert "Replay of the layers" in trace._repr_html_()


def test_trace_of_self_attention_has_words_as_rows(predictor_of, baselines):
    predictor = predictor_of(baselines["ner_psa"])
    trace = predictor.trace("Anna slept in Rome .")
    assert trace.attention.shape == (5, 5) and trace.gates.shape == (5, 300)
    assert trace.attention.diagonal().tolist() == [0] * 5
    assert trace.attention.sum(1) == pytest.approx(1, abs=1e-5)
    answer = predictor.predict_json({"sentence": "Anna slept in Rome .", "trace": True})
    written = answer["trace"]
    assert written == json.loads(json.dumps(trace.to_json()))
    assert written["gates"] == pytest.approx(trace.gates.mean(1).tolist(), abs=1e-5)
    assert written["tags"] == answer["tags"]
    assert predictor.trace(["Rome"]).attention.tolist() == [[0]]
    assert predictor.description()["step_name"] == "word"
    assert trace.plot().axes[0].get_ylabel() == "word"
    assert "Replay of the words" in trace._repr_html_()
