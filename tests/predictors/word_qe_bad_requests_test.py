"""Requests that cannot be answered: from Python a `ValueError`, from the server status 400 with the same message."""

import ast
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    ([], OBJECT + "[]"),
    ([GOOD], OBJECT + '[{"source": "the red house", "target": ["das", "Haus"], "...'),
    (7, OBJECT + "7"),
    (True, OBJECT + "true"),
    ("the red house", OBJECT + '"the red house"'),
    (float("nan"), OBJECT + "NaN"),
    (DEEP, OBJECT + "[" * 57 + "..."),
]
REFUSED = "target: expected a word without %s, got %s at index %d"
# What of the good request is changed (None as a value: null).
CHANGES = [
    ({"source": None}, f"source: {WORDS}null"),
    ({"source": 5}, f"source: {WORDS}5"),
    ({"target": True}, f"target: {WORDS}true"),
    ({"target": {"a": 1}}, f"target: {WORDS}" + '{"a": 1}'),
    ({"target": float("inf")}, f"target: {WORDS}Infinity"),
    ({"target": 10**4000}, f"target: {WORDS}1" + "0" * 56 + "..."),
    ({"source": ""}, 'source: expected at least one word, got ""'),
    ({"source": " \t\u00a0\u2028"}, r'source: expected at least one word, got " \t\u00a0\u2028"'),
    ({"target": []}, "target: expected at least one word, got []"),
    ({"target": [""]}, f'target: {SINGLE}"" at index 0'),
    ({"target": ["das", "rote Haus"]}, f'target: {SINGLE}"rote Haus" at index 1'),
    ({"target": ["das", "Haus\n"]}, f'target: {SINGLE}"Haus\\n" at index 1'),
    ({"target": ["das", "Haus\u00a0"]}, f'target: {SINGLE}"Haus\\u00a0" at index 1'),
    (
        {"target": "das \ud800a"},
        REFUSED % ("surrogates that are not in pairs", r"'\ud800a' with U+D800", 1),
    ),
    ({"target": ["das", None]}, f"target: {SINGLE}null at index 1"),
    ({"target": ["das", 1.5]}, f"target: {SINGLE}1.5 at index 1"),
    ({"source": [["the", "red"], "house"]}, f'source: {SINGLE}["the", "red"] at index 0'),
    ({"source": DEEP}, f"source: {SINGLE}" + "[" * 57 + "... at index 0"),
    ({"source": "a " * 5000}, "source: expected at most 1000 words, got 5000"),
    ({"target": ["a"] * 5000}, "target: expected at most 1000 words, got 5000"),
    ({"target": [None] * 5000}, "target: expected at most 1000 words, got 5000"),
    *(
        ({"threshold": value}, f"threshold: expected a number above 0 and below 1, got {shown}")
        for value, shown in (
            (0, "0"),
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (True, "true"),
            ("0.5", '"0.5"'),
            (float("nan"), "NaN"),
            (10**400, "1" + "0" * 56 + "..."),
        )
    ),
    ({"alignments": 3}, 'alignments: expected a string such as "0-0 1-2" or a list, got 3'),
    ({"alignments": {}}, 'alignments: expected a string such as "0-0 1-2" or a list, got {}'),
    ({"alignments": False}, 'alignments: expected a string such as "0-0 1-2" or a list, got false'),
    ({"alignments": "0-0 3-1"}, "alignments: expected source indices from 0 to 2, got 3 in 3-1"),
    ({"alignments": "0-2"}, "alignments: expected target indices from 0 to 1, got 2 in 0-2"),
    (
        {"alignments": [[2, 0], [1, 2]]},
        "alignments: expected target indices from 0 to 1, got 2 in 1-2",
    ),
    ({"alignments": "0-a"}, LINKS + "'0-a'"),
    ({"alignments": "0"}, LINKS + "'0'"),
    ({"alignments": "0,0"}, LINKS + "'0,0'"),
    ({"alignments": "-1-0"}, LINKS + "'-1-0'"),
    ({"alignments": "0.0-0"}, LINKS + "'0.0-0'"),
    ({"alignments": "0-\u0661"}, LINKS + "'0-\u0661'"),
    ({"alignments": "9" * 5000 + "-0"}, LINKS + "'" + "9" * 36 + "..."),
    ({"alignments": "0-\ud800"}, LINKS + r"'0-\ud800'"),
    ({"alignments": ["0-0", "0-x"]}, LINKS + "'0-x'"),
    ({"alignments": [0, 0]}, PAIRS + "0 at index 0"),
    ({"alignments": ["0-0", [0]]}, PAIRS + "[0] at index 1"),
    ({"alignments": [[0, 0, 0]]}, PAIRS + "[0, 0, 0] at index 0"),
    ({"alignments": [[0, "0"]]}, PAIRS + '[0, "0"] at index 0'),
    ({"alignments": [[0, 1.0]]}, PAIRS + "[0, 1.0] at index 0"),
    ({"alignments": [[float("nan"), 0]]}, PAIRS + "[NaN, 0] at index 0"),
    ({"alignments": [[True, 0]]}, PAIRS + "[true, 0] at index 0"),
    ({"alignments": [[0, -1]]}, PAIRS + "[0, -1] at index 0"),
    ({"alignments": [[10**4000, 0]]}, PAIRS + "[1" + "0" * 55 + "... at index 0"),
    ({"alignments": [None]}, PAIRS + "null at index 0"),
    ({"alignments": [[[0, 0]]]}, PAIRS + "[[0, 0]] at index 0"),
    ({"alignments": [DEEP]}, PAIRS + "[" * 57 + "... at index 0"),
    ({"attention": 1}, "attention: expected true or false, got 1"),
    ({"attention": "true"}, 'attention: expected true or false, got "true"'),
    ({"attention": []}, "attention: expected true or false, got []"),
    (
        {"alignment": "0-0"},
        FIELDS + 'got "alignment"',
    ),
    (
        {"\ud800\n": 1},
        FIELDS + r'got "\ud800\n"',
    ),
]
CASES = [
    *VALUES,
    *(({**GOOD, **change}, message) for change, message in CHANGES),
    ({}, f"source: {WORDS}no such field"),
    ({"source": "a"}, f"target: {WORDS}no such field"),
    ({"target": "a"}, f"source: {WORDS}no such field"),
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


@pytest.mark.parametrize("path", ["/predict", "/predict_batch"])
@pytest.mark.parametrize("body", [b"", b"{", b"{'source': 1}", b"\xff", b"[NaN"])
def test_bodies_that_are_not_json_are_refused(post, body, path):
    assert post(body, path)[0] == 400


def test_bad_requests_do_not_change_later_answers(predictor, post):
    expected = predictor.predict_json(GOOD)
    assert post(GOOD) == (200, expected)
    for request, _ in CASES:
        assert post(request)[0] == 400
    assert post(GOOD) == (200, expected)
    assert post([GOOD], "/predict_batch") == (200, [expected])
    assert post([], "/predict_batch") == (200, [])


TEXT = st.text(st.characters(), max_size=8)
NUMBERS = st.integers() | st.floats() | st.integers(0, 3)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | st.sampled_from(["a b", "0-0", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["source", "target", "alignments", "attention", "threshold"])
WORD_LISTS = st.lists(TEXT, min_size=1, max_size=3)
REQUESTS = st.fixed_dictionaries(
    {"source": TEXT | WORD_LISTS, "target": TEXT | WORD_LISTS},
    optional={"alignments": JSON, "attention": JSON, "threshold": JSON},
)


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=JSON | st.dictionaries(FIELDS, JSON) | REQUESTS | st.lists(REQUESTS, max_size=2))
def test_anything_is_answered_or_refused(post, body):
    for path in ("/predict", "/predict_batch"):
        status, answer = post(body, path)
        assert status in (200, 400)
        if status == 400:
            assert set(answer) == {"message"}
            assert "expected" in answer["message"]
        else:
            for item in answer if path == "/predict_batch" else [answer]:
                assert len(item["tokens"]) == len(item["tags"]) == len(item["bad_probabilities"])


def test_predictors_do_not_import_the_server(root):
    files = list((root / "allennlp_nef" / "predictors").glob("*.py"))
    assert len(files) > 1
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            assert not any(name.startswith(("allennlp_server", "flask")) for name in names), path
