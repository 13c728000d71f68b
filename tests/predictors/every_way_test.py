"""The same sentences, asked in every way, have the same answers."""

import json
import random

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.errors import UserError
from allennlp_nef.predictors import base
from allennlp_nef.serving import create_app
from tests.predictors.small_models import ENTITIES
from tests.qe.small_qe import PAIRS

EXACT = ("tokens", "tags", "offsets", "source", "alignments", "threshold_from", "id")
CLOSE = ("probabilities", "bad_probabilities", "expected_bad_share", "threshold")


def ner_requests():
    """60 sentences of 1 to 40 words: text and lists of words."""
    rng = random.Random(0)
    words = [word for text, _ in ENTITIES for word in text.split()]
    sentences = [" ".join(rng.choices(words, k=rng.randint(1, 40))) for _ in range(60)]
    return [
        {"id": i, **({"sentence": f"{text}!"} if i % 2 else {"tokens": text.split()})}
        for i, text in enumerate(sentences)
    ]


def qe_requests():
    """60 pairs: text and lists of words, with alignments and without."""
    rng = random.Random(0)
    requests = []
    for i in range(60):
        source, target, links, _ = rng.choice(PAIRS)
        copies = rng.randint(1, 8)
        request = {"id": i, "source": f"{source} " * copies, "target": f"{target} " * copies}
        if i % 3 == 0:
            request = {"id": i, "source": source.split(), "target": target.split()}
            request["alignments"] = links
        requests.append(request)
    return requests


TASKS = {"ner": ner_requests(), "qe": qe_requests()}
INVALID = ({"id": "bad"}, {"id": "bad", "sentence": "", "source": " ", "target": 7})


@pytest.fixture(scope="module", params=TASKS)
def asked(request, small_run):
    """The folder of a model, requests, and the answer to each of them alone."""
    folder, requests = small_run(request.param), TASKS[request.param]
    predictor = load_predictor(folder)
    return folder, requests, [predictor.predict_json(each) for each in requests]


def with_invalid(requests):
    """The requests, with an invalid one before each ten."""
    return [
        each
        for i, request in enumerate(requests)
        for each in ([INVALID[i // 10 % 2], request] if i % 10 == 0 else [request])
    ]


def assert_same(answers, expected):
    assert len(answers) == len(expected)
    for answer, other in zip(answers, expected):
        for name in EXACT:
            assert answer.get(name) == other.get(name)
        for name in CLOSE:
            assert answer.get(name) == pytest.approx(other.get(name), abs=1e-5)
        spans, others = answer.get("spans", []), other.get("spans", [])
        assert [{**span, "probability": 0} for span in spans] == [
            {**span, "probability": 0} for span in others
        ]


def is_valid(answer):
    return "error" not in answer


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_lists(asked, batch_size):
    folder, requests, expected = asked
    predictor = load_predictor(folder, batch_size=batch_size)
    assert_same(predictor.predict_batch_json(requests), expected)
    skipping = load_predictor(folder, batch_size=batch_size, on_error="skip")
    answers = skipping.predict_batch_json(with_invalid(requests))
    assert [is_valid(each) for each in answers].count(False) == 6
    assert_same([each for each in answers if is_valid(each)], expected)
    assert_same(skipping.predict_batch_json(requests[::-1])[::-1], expected)


def test_many(asked, capfd, monkeypatch):
    folder, requests, expected = asked
    predictor = load_predictor(folder)
    answers = predictor.predict_many(iter(requests))
    assert_same(answers, expected)
    assert answers[0].tags == expected[0]["tags"] and "predicting" not in capfd.readouterr().err
    with pytest.raises(AttributeError):
        _ = answers[0].hters
    # The arguments of `predict` in place of requests; more of them than are sorted by length together.
    monkeypatch.setattr(base, "WINDOW", 7)
    inputs = [
        tuple(request[name] for name in ("source", "target", "alignments") if name in request)
        or request.get("tokens", request.get("sentence"))
        for request in requests
    ]
    answers = predictor.predict_many(inputs)
    assert_same([{**answer, "id": i} for i, answer in enumerate(answers)], expected)
    assert "predicting" in capfd.readouterr().err
    with pytest.raises(UserError, match=r"^item 8: "):
        predictor.predict_many([*inputs[:8], ""])


def test_files(asked, nef, allennlp, tmp_path):
    folder, requests, expected = asked
    path, output = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    lines = [json.dumps(request, ensure_ascii=False) for request in with_invalid(requests)]
    path.write_text("\n".join([*lines[:5], "no JSON", *lines[5:]]), encoding="utf-8")
    arguments = ("predict", folder, path, "--silent", "--batch-size", 7)
    options = json.dumps({"on_error": "skip"})
    assert nef(*arguments, "--output-file", output, "--predictor-args", options) == 0
    answers = list(map(json.loads, output.read_text("utf-8").splitlines()))
    assert answers[5].keys() == {"error"} and answers[5]["error"].startswith(f"{path}:6: ")
    assert_same([each for each in answers if is_valid(each)], expected)
    path.write_text("\n".join(map(json.dumps, requests)), encoding="utf-8")
    allennlp(*arguments, "--output-file", output)
    assert_same(list(map(json.loads, output.read_text("utf-8").splitlines())), expected)


def test_servers(asked):
    folder, requests, expected = asked
    client = create_app(folder, on_error="skip").test_client()
    answers = client.post("/predict", json=with_invalid(requests)).json
    assert_same([each for each in answers if is_valid(each)], expected)
    assert_same([client.post("/predict", json=each).json for each in requests[:5]], expected[:5])
    server = pytest.importorskip("allennlp_server.commands.server_simple")
    client = server.make_app(load_predictor(folder), ["sentence"]).test_client()
    assert_same(client.post("/predict_batch", json=requests).json, expected)
    assert_same([client.post("/predict", json=each).json for each in requests[:5]], expected[:5])
    assert client.post("/predict", json=INVALID[0]).status_code == 400
