"""The application, in this process."""

import io
import json
import logging
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.errors import UserError
from tests.small_experiment import CONFIGS, ROOT, evaluate, experiment

pytest.importorskip("flask")
pytest.importorskip("prometheus_client")

GOOD = {"source": "the red house", "target": "das rote Haus"}
WORDS = ["le", "garde", "ferme", "la", "porte", "et", "les", "enfants", "dorment"]
TAGS = ["DET", "NOUN", "VERB", "DET", "NOUN", "CCONJ", "DET", "NOUN", "VERB"]
# Of each kind of model without tags: its config, the predictor, and requests of several lengths.
KINDS = {
    "class": (
        *("trec_bilstm", "sentence_classifier"),
        [{"sentence": WORDS[:n]} for n in (3, 9, 1)],
    ),
    "pair": (
        *("sick_relatedness_tree_lstm", None),
        [
            {"first": WORDS[:n], "first_heads": [*range(n)], "second": "b", "second_heads": [0]}
            for n in (3, 9, 1)
        ],
    ),
    "tree": (
        *("sst_tree_lstm", None),
        [{"tree": f"(0 (0 a) {tree})"} for tree in ("(1 (1 b) (1 c))", "(0 b)")],
    ),
    "dependencies": (
        *("parse_arc_mlp_nef_f", None),
        [{"sentence": WORDS[:n], "tags": TAGS[:n], "trace": n == 3} for n in (3, 9, 1)],
    ),
}
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-\d+)?")
JSON = "application/json"
LIMIT = 20_000


@pytest.fixture(scope="module")
def app(archive_path, root):
    from allennlp_nef.serving import create_app

    return create_app(
        str(archive_path), static_dir=str(root / "demo"), max_bytes=LIMIT, max_tokens=50
    )


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder of a run of each kind of `KINDS`, without training."""
    made = {}
    configs = evaluate(*(f"import '{CONFIGS}/{name}.jsonnet'" for name, *_ in KINDS.values()))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for kind, config in zip(KINDS, configs):
            made[kind] = folder = tmp_path_factory.mktemp(kind)
            model = experiment(config, folder, 30).model
            torch.save(model.state_dict(), str(folder / "best.th"))
            Params(config).to_file(str(folder / "config.json"))
    return made


@pytest.fixture(scope="module")
def apps(folders):
    from allennlp_nef.serving import create_app

    return {
        kind: create_app(str(folders[kind]), predictor=predictor, max_tokens=50, max_batch=3)
        for kind, (_, predictor, _) in KINDS.items()
    }


def check_equal(answers, expected):
    """Equal but for the last digits of numbers."""
    found, wanted = (json.dumps(each, sort_keys=True) for each in (answers, expected))
    assert NUMBER.sub("0", found) == NUMBER.sub("0", wanted)
    numbers = [list(map(float, NUMBER.findall(text))) for text in (found, wanted)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-5)


def nested(depth):
    return b"[" * depth + b"]" * depth


def test_answers_are_those_of_the_predictor(client, word_qe):
    predictor = word_qe(max_tokens=50)
    traced = {**GOOD, "attention": True, "trace": True, "threshold": 0.25}
    for request in (GOOD, traced, {"describe": True}):
        response = client.post("/predict", json=request)
        assert (response.status_code, response.content_type) == (200, JSON)
        assert response.json == json.loads(json.dumps(predictor.predict_json(request)))
    for requests in ([], [traced], [GOOD, GOOD]):
        answers = client.post("/predict_batch", json=requests).json
        assert answers == json.loads(json.dumps(predictor.predict_batch_json(requests)))


@pytest.mark.parametrize("kind", KINDS)
def test_models_without_tags_answer_as_their_predictors_do(folders, apps, kind):
    from allennlp_nef.predictors.archives import load_predictor

    _, name, requests = KINDS[kind]
    client = apps[kind].test_client()
    predictor = load_predictor(str(folders[kind]), name=name, max_tokens=50, max_batch=3)
    assert client.post("/predict", json={"describe": True}).json == predictor.description()
    expected = [predictor.predict_json(request) for request in requests]
    assert client.post("/predict", json=requests[0]).json == expected[0]
    check_equal(client.post("/predict_batch", json=requests).json, expected)

    def ask(index):
        return apps[kind].test_client().post("/predict", json=requests[index % len(requests)]).json

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, range(12)))
    check_equal(answers, [expected[index % len(requests)] for index in range(12)])


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("class", {"sentence": "a " * 51}, "sentence: expected at most 50 words, got 51"),
        ("pair", {"first_heads": [0, 1, float("inf")]}, "first_heads: expected 3 numbers from 0"),
        ("tree", {"tree": "(0 " * 2000}, "tree: expected a bracket ) for each ("),
        ("dependencies", {"tags": ["DET"]}, "tags: expected 3 tags, one a word, got 1"),
    ],
)
def test_a_wrong_field_of_models_without_tags_gets_its_message(apps, kind, changes, message):
    client, good = apps[kind].test_client(), KINDS[kind][2][0]
    wrong = {**good, **changes}
    for path, body, start in (
        ("/predict", wrong, ""),
        ("/predict_batch", [good, wrong], "item 1: "),
    ):
        response = client.post(path, json=body)
        assert (response.status_code, response.content_type) == (400, JSON)
        assert response.json["message"].startswith(start + message)


def test_requests_at_the_same_time_get_their_own_answers(app, word_qe):
    def ask(request):
        return app.test_client().post("/predict", json=request).json

    requests = [{**GOOD, "target": "Haus " * (1 + index % 20)} for index in range(60)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, requests))
    for request, answer in zip(requests, answers):
        expected = word_qe().predict_json(request)
        assert answer["tags"] == expected["tags"]
        assert answer["bad_probabilities"] == pytest.approx(expected["bad_probabilities"], abs=1e-5)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b'{"source"', 400, 'expected JSON, got "{\\"source\\"" (Expecting'),
        (b'"d\xe4s"', 400, 'expected JSON, got "\\"d\\\\xe4s\\"" (\'utf-8\' codec'),
        (b"9" * 5000, 400, 'expected JSON, got "99999'),
        (nested(20), 400, "expected an object with the fields source and target, got [[["),
        (nested(21), 400, "expected JSON of at most 20 levels, got more"),
        (b'{"a":' * 20 + b"[]" + b"}" * 20, 400, "expected JSON of at most 20 levels, got more"),
        (b"[" * LIMIT, 400, "expected JSON"),
        (b" " * (LIMIT + 1), 413, f"expected a body of at most {LIMIT} bytes"),
        (b'{"source": "a", "target": "b", "id": NaN}', 400, "id: expected a JSON value, got NaN"),
        (b"NaN", 400, "expected an object with the fields source and target, got NaN"),
    ],
)
def test_each_wrong_body_gets_its_message(client, body, status, message):
    response = client.post("/predict", data=body, content_type=JSON)
    assert (response.status_code, response.content_type) == (status, JSON)
    assert response.json["message"].startswith(message)


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status", "message"),
    [
        ("POST", "/predict", None, 415, "Content-Type: expected application/json, got null"),
        ("POST", "/predict", "text/plain", 415, "Content-Type: expected application/json, got"),
        ("POST", "/predict_batch", JSON, 400, "expected a list of objects, got {"),
        ("POST", "/describe", JSON, 405, "expected GET, got POST"),
        ("GET", "/predict", None, 405, "expected POST, got GET"),
        ("DELETE", "/healthz", None, 405, "expected GET, got DELETE"),
        ("GET", "/nowhere", None, 404, "expected a path of this server, such as /predict, got"),
        ("GET", "/../conftest.py", None, 404, "expected a path of this server"),
    ],
)
def test_each_wrong_request_gets_its_message(client, method, path, content_type, status, message):
    data = json.dumps(GOOD) if method == "POST" else None
    response = client.open(path, method=method, data=data, content_type=content_type)
    assert (response.status_code, response.content_type) == (status, JSON)
    assert response.json["message"].startswith(message)
    assert ("Allow" in response.headers) == (status == 405)


def test_a_body_that_ends_too_early_is_an_error(client):
    response = client.post(
        "/predict", data=b"{}", content_type=JSON, environ_overrides={"CONTENT_LENGTH": "9"}
    )
    assert (response.status_code, response.json) == (408, {"message": "expected a whole body"})


def test_chunks_have_the_same_limit(client):
    """Werkzeug's test client has no chunks: this is what gunicorn passes on of them."""
    for size, status in ((LIMIT - 1, 400), (LIMIT, 413), (11 * LIMIT, 413)):
        response = client.post(
            "/predict",
            content_type=JSON,
            input_stream=io.BytesIO(b" " * size),
            headers={"Transfer-Encoding": "chunked"},
            environ_overrides={"wsgi.input_terminated": True},
        )
        assert (response.status_code, response.content_type) == (status, JSON)


def test_no_changed_body_is_a_server_error(client):
    rng = random.Random(0)
    good = {**GOOD, "alignments": [[0, 0], [2, 2]], "attention": True, "threshold": 0.5}
    bodies = [json.dumps(value).encode() for value in (good, [good, GOOD])]
    pieces = [
        *(bytes([value]) for value in range(256)),
        b"null",
        b"1e999",
        b"-0",
        b"NaN",
        b'"\\ud800"',
    ]
    pieces += [nested(30), b"{}", b'{"describe": true}', b"9" * 4400, b"\xef\xbb\xbf", b'"\\u0000"']
    statuses = set()
    for _ in range(300):
        body = rng.choice(bodies)
        for _ in range(rng.randint(1, 3)):
            begin = rng.randrange(len(body) + 1)
            body = body[:begin] + rng.choice(pieces) + body[begin + rng.choice((0, 1, 1, 5)) :]
        path = rng.choice(("/predict", "/predict_batch"))
        response = client.post(path, data=body, content_type=JSON)
        assert response.status_code in (200, 400) and response.content_type == JSON, body
        assert response.status_code == 200 or list(response.json) == ["message"], body
        statuses.add(response.status_code)
    assert statuses == {200, 400}


def test_an_error_of_the_model_is_logged_and_the_next_request_answered(client, monkeypatch, caplog):
    from allennlp_nef.predictors import WordQePredictor

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(WordQePredictor, "to_answer", lambda *_: 1 / 0)
        response = client.post("/predict", json=GOOD)
    assert response.status_code == 500
    assert response.json == {"message": "internal error; the server's log says more"}
    (record,) = caplog.records
    assert record.getMessage() == "POST /predict failed"
    assert record.exc_info[0] is ZeroDivisionError
    assert client.post("/predict", json=GOOD).status_code == 200


def test_the_page_and_its_files_are_handed_out(client, root):
    for path, name in (("/", "index.html"), ("/page.js", "page.js")):
        assert client.get(path).data == (root / "demo" / name).read_bytes()


def test_health_and_figures(archive_path):
    from allennlp_nef.serving import create_app

    client = create_app(str(archive_path)).test_client()
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/").status_code == 404
    client.post("/predict_batch", json=[GOOD] * 3)
    client.post("/predict", data="{")
    lines = client.get("/metrics").text.splitlines()
    for line in (
        'allennlp_nef_requests_total{path="/healthz",status="200"} 1.0',
        'allennlp_nef_requests_total{path="other",status="404"} 1.0',
        'allennlp_nef_requests_total{path="/predict",status="415"} 1.0',
        'allennlp_nef_request_seconds_count{path="/predict_batch"} 1.0',
        'allennlp_nef_batch_sentences_bucket{le="2.0"} 0.0',
        'allennlp_nef_batch_sentences_bucket{le="4.0"} 1.0',
        "allennlp_nef_requests_in_flight 1.0",
    ):
        assert line in lines


def test_predictors_of_other_packages_are_refused(folders, archive_path):
    from allennlp_nef.serving import create_app

    ours = "nef_tagger, sentence_classifier, sentence_pair, tree_lstm, word_qe"
    default = ", the default of basic_classifier"
    for path, name, got in (
        (folders["class"], None, f"text_classifier{default}"),
        (archive_path, "text_classifier", "text_classifier"),
    ):
        with pytest.raises(UserError) as info:
            create_app(str(path), predictor=name)
        expected = f"{path}: expected one of the predictors dependency_parser, {ours}, got {got}"
        assert str(info.value) == expected
    with pytest.raises(UserError, match="this predictor expects SentencePairsReader, got Wmt"):
        create_app(str(archive_path), predictor="sentence_pair")


def test_wrong_options_are_errors(archive_path, tmp_path, monkeypatch):
    from allennlp_nef.serving import create_app

    path = str(archive_path)
    for options, message in (
        ({"max_token": 200}, "WordQePredictor: expected .*; did you mean max_tokens?"),
        ({"static_dir": str(tmp_path)}, r"static_dir: expected a folder with index\.html, got "),
        ({"predictor": "nobody"}, "'nobody' is not a registered name for 'Predictor'"),
        ({"include_package": ["none"]}, "include_package: expected packages that can be imported"),
    ):
        with pytest.raises(UserError, match=message):
            create_app(path, **options)
    with pytest.raises(ConfigurationError, match="max_depth: expected an integer of at least 1"):
        create_app(path, max_depth=0)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "allennlp_nef.serving._metrics")
    with pytest.raises(UserError, match=r"pip install 'allennlp_nef\[serve,gunicorn\]'"):
        create_app(path)
