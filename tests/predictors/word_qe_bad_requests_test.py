"""Requests that cannot be answered: from Python a `ValueError`, from the server status 400 with the same message."""

import ast
import json

import pytest

GOOD = {"source": "the red house", "target": ["das", "Haus"], "alignments": "0-0 2-1"}
OBJECT = "expected an object with the fields source and target, got "
WORDS = "expected a string or a list of words, got "
SINGLE = "expected words without whitespace, got "
LINKS = "alignments: expected alignments i-j (source and target word, from 0), got "
PAIRS = (
    'alignments: expected pairs [source index, target index] or strings such as "0-1", from 0, got '
)
FIELDS = (
    "expected the fields source and target (optional: alignments, attention, trace, threshold, max_steps, halting, "
    "id), "
)
DEEP = json.loads("[" * 400 + "]" * 400)

# Anything but an object.
VALUES = [
    (None, OBJECT + "null"),
    ([GOOD], OBJECT + '[{"source": "the red house", "target": ["das", "Haus"], "...'),
    (float("nan"), OBJECT + "NaN"),
    (DEEP, OBJECT + "[" * 57 + "..."),
]
REFUSED = "target: expected a word without %s, got %s at index %d"
# What of the good request is changed (None as a value: null).
CHANGES = [
    ({"source": None}, f"source: {WORDS}null"),
    ({"target": float("inf")}, f"target: {WORDS}Infinity"),
    ({"target": 10**4000}, f"target: {WORDS}1" + "0" * 56 + "..."),
    ({"source": " \t\u00a0\u2028"}, r'source: expected at least one word, got " \t\u00a0\u2028"'),
    ({"target": []}, "target: expected at least one word, got []"),
    ({"target": ["das", "Haus\u00a0"]}, f'target: {SINGLE}"Haus\\u00a0" at index 1'),
    (
        {"target": "das \ud800a"},
        REFUSED % ("surrogates that are not in pairs", r"'\ud800a' with U+D800", 1),
    ),
    ({"source": DEEP}, f"source: {SINGLE}" + "[" * 57 + "... at index 0"),
    ({"target": [None] * 5000}, "target: expected at most 1000 words, got 5000"),
    *(
        ({"threshold": value}, f"threshold: expected a number above 0 and below 1, got {shown}")
        for value, shown in ((0, "0"), (True, "true"), ("0.5", '"0.5"'), (float("nan"), "NaN"))
    ),
    ({"alignments": False}, 'alignments: expected a string such as "0-0 1-2" or a list, got false'),
    ({"alignments": "0-0 3-1"}, "alignments: expected source indices from 0 to 2, got 3 in 3-1"),
    (
        {"alignments": [[2, 0], [1, 2]]},
        "alignments: expected target indices from 0 to 1, got 2 in 1-2",
    ),
    ({"alignments": "-1-0"}, LINKS + "'-1-0'"),
    ({"alignments": "0-\u0661"}, LINKS + "'0-\u0661'"),
    ({"alignments": "9" * 5000 + "-0"}, LINKS + "'" + "9" * 36 + "..."),
    ({"alignments": ["0-0", [0]]}, PAIRS + "[0] at index 1"),
    ({"alignments": [[0, 1.0]]}, PAIRS + "[0, 1.0] at index 0"),
    ({"alignments": [[True, 0]]}, PAIRS + "[true, 0] at index 0"),
    ({"alignments": [[10**4000, 0]]}, PAIRS + "[1" + "0" * 55 + "... at index 0"),
    ({"attention": 1}, "attention: expected true or false, got 1"),
    ({"\ud800\n": 1}, FIELDS + r'got "\ud800\n"'),
]
CASES = [
    *VALUES,
    *(({**GOOD, **change}, message) for change, message in CHANGES),
    ({}, f"source: {WORDS}no such field"),
]
IDS = [f"{i}-{message[:30]}" for i, (_, message) in enumerate(CASES)]


@pytest.fixture(scope="module")
def predictor(word_qe):
    return word_qe()


@pytest.fixture(scope="module")
def post(predictor):
    """`post(body, path)`: status and decoded answer of the server, None where it is not JSON."""
    server = pytest.importorskip("allennlp_server.commands.server_simple")
    client = server.make_app(predictor, field_names=["source", "target"]).test_client()

    def request(body, path="/predict"):
        if not isinstance(body, bytes):
            body = json.dumps(body)
        response = client.post(path, data=body, content_type="application/json")
        return response.status_code, response.get_json(silent=True)

    return request


@pytest.mark.parametrize(("request_", "message"), CASES, ids=IDS)
def test_bad_requests_are_refused_in_python_and_by_the_server(predictor, post, request_, message):
    with pytest.raises(ValueError, match="expected") as caught:
        predictor.predict_json(request_)
    assert str(caught.value) == message
    assert post(request_) == (400, {"message": message})
    assert post([GOOD, request_], "/predict_batch") == (400, {"message": f"item 1: {message}"})


@pytest.mark.parametrize("batch", [None, {}, GOOD, "text", 1, float("nan")])
def test_batches_that_are_no_lists_are_refused(predictor, post, batch):
    with pytest.raises(ValueError, match="expected a list of objects, got") as caught:
        predictor.predict_batch_json(batch)
    assert post(batch, "/predict_batch") == (400, {"message": str(caught.value)})


def test_bad_requests_do_not_change_later_answers(predictor, post):
    expected = predictor.predict_json(GOOD)
    assert post(GOOD) == (200, expected)
    for request, _ in CASES:
        assert post(request)[0] == 400
    assert post(GOOD) == (200, expected)
    assert post([GOOD], "/predict_batch") == (200, [expected])
    assert post([], "/predict_batch") == (200, [])


def test_predictors_do_not_import_the_server(root):
    files = list((root / "allennlp_nef" / "predictors").glob("*.py"))
    assert len(files) > 1
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            assert not any(name.startswith(("allennlp_server", "flask")) for name in names), path
