"""Whole runs through AllenNLP's commands: train, evaluate, predict and serve, for each task."""

import json
import math
import urllib.error
import urllib.request

import pytest
from allennlp.models import load_archive

from allennlp_nef import load
from tests.conftest import ROOT

FIXTURES = ROOT / "fixtures"


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_training_of_a_quality_estimator_writes_metrics_and_an_archive(archive_path):
    metrics = read_json(archive_path.parent / "metrics.json")
    for name in ("f1_ok", "f1_bad", "f1_mult", "mcc"):
        for part in ("training", "validation", "best_validation"):
            assert -1 <= metrics[f"{part}_{name}"] <= 1
    product = metrics["validation_f1_ok"] * metrics["validation_f1_bad"]
    assert metrics["validation_f1_mult"] == pytest.approx(product)
    first, last = (
        read_json(archive_path.parent / f"metrics_epoch_{epoch}.json") for epoch in (0, 2)
    )
    assert last["training_loss"] < first["training_loss"]
    vocab = load_archive(str(archive_path)).model.vocab
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"OK", "BAD"}


def test_evaluate_and_predict_of_a_quality_estimator(allennlp, archive_path, tmp_path):
    package = ["--include-package", "allennlp_nef"]
    scores, tags, answers = (tmp_path / name for name in ("scores.json", "tags", "answers"))
    allennlp("evaluate", archive_path, FIXTURES / "qe/test", "--output-file", scores, *package)
    assert math.isfinite(read_json(scores)["mcc"])
    allennlp(
        *("predict", archive_path, FIXTURES / "qe/test", "--use-dataset-reader", "--silent"),
        *("--predictor-args", '{"output_format": "tags"}', "--output-file", tags, *package),
    )
    lines = (FIXTURES / "qe/test.mt").read_text(encoding="utf-8").splitlines()
    tagged = tags.read_text(encoding="utf-8").splitlines()
    assert [len(line.split()) for line in tagged] == [len(line.split()) for line in lines]

    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"source": "good morning", "target": "guten Morgen"}\n' * 3)
    allennlp("predict", archive_path, requests, "--silent", "--output-file", answers, *package)
    got = [json.loads(line) for line in answers.read_text().splitlines()]
    assert len(got) == 3 and all(len(answer["tags"]) == 2 for answer in got)


def test_entities_are_written_beside_the_gold_tags(allennlp, ner_archive, tmp_path):
    path = tmp_path / "tagged.conll"
    allennlp(
        *("predict", ner_archive, FIXTURES / "ner/test.conll", "--use-dataset-reader", "--silent"),
        *("--predictor-args", '{"output_format": "conll"}', "--output-file", path),
    )
    rows = [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines() if line]
    gold = [
        line.split()
        for line in (FIXTURES / "ner/test.conll").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("-DOCSTART-")
    ]
    assert [row[0] for row in rows] == [row[0] for row in gold]
    assert [row[-2][1:] for row in rows] == [row[-1][1:] for row in gold]  # as BIO


def test_parts_of_speech_are_written_back_as_conllu(allennlp, pos_archive, tmp_path):
    path = tmp_path / "tagged.conllu"
    allennlp(
        *("predict", pos_archive, FIXTURES / "pos/test.conllu", "--use-dataset-reader"),
        *("--silent", "--predictor-args", '{"output_format": "conllu"}', "--output-file", path),
    )
    before = (FIXTURES / "pos/test.conllu").read_text(encoding="utf-8").splitlines()
    after = path.read_text(encoding="utf-8").splitlines()
    differing = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    for old, new in differing:  # only the tag differs
        assert [
            i for i, pair in enumerate(zip(old.split("\t"), new.split("\t"))) if pair[0] != pair[1]
        ] == [3]


@pytest.mark.parametrize(
    ("config", "request_", "field"),
    [
        ("trec_nef_f", {"sentence": "Who wrote Hamlet ?"}, "label"),
        ("sst_tree_lstm", {"tree": "(3 (2 a) (4 film))"}, "label"),
        ("sick_relatedness_bilstm", {"first": "a dog runs", "second": "a dog sleeps"}, "score"),
        ("parse_arc_mlp", {"sentence": "dogs bark", "tags": ["NOUN", "VERB"]}, "heads"),
    ],
)
def test_sentences_pairs_and_trees_are_trained_and_answered(trained, config, request_, field):
    archive = trained(config, sentences=40, epochs=1)
    metrics = read_json(archive.parent / "metrics.json")
    assert math.isfinite(metrics["training_loss"])
    answer = load(str(archive)).predict_json(request_)
    assert field in answer


def test_load_answers_from_python(archive_path, ner_archive):
    answer = load(str(archive_path)).predict("good morning", "guten Morgen", attention=True)
    assert len(answer["attention"][0]) == 2 and 0 <= answer["expected_bad_share"] <= 1
    tagger = load(str(ner_archive))
    assert tagger.predict("a new sentence")["tokens"] == ["a", "new", "sentence"]
    trace = tagger.trace("a new sentence")
    assert trace.attention.shape == (3, 3) and len(trace.provisional_tags) == 3


@pytest.mark.slow
def test_server_answers_requests_and_shows_the_page(serve, archive_path, tmp_path):
    def post(value):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/predict",
            json.dumps(value).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    with serve(tmp_path, archive_path) as (_, port):
        assert post({"source": "good morning", "target": "guten Morgen"})["tags"]
        assert post({"describe": True})["task"] == "word_qe"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as response:
            assert b"<html" in response.read()
        with pytest.raises(urllib.error.HTTPError) as error:
            post({"source": "good morning"})
        assert error.value.code == 400
