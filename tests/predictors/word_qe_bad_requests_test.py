"""Requests that cannot be answered: a `ValueError` with the field, what is expected and what came."""

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
    "expected the fields source and target (optional: alignments, attention, trace, label_probabilities, "
    "threshold, max_steps, halting, id), "
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
    ({"threshold": "0.5"}, 'threshold: expected a number above 0 and below 1, got "0.5"'),
    ({"alignments": False}, 'alignments: expected a string such as "0-0 1-2" or a list, got False'),
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
    ({"alignments": [[True, 0]]}, PAIRS + "[True, 0] at index 0"),
    ({"alignments": [[10**4000, 0]]}, PAIRS + "[1" + "0" * 35 + "... at index 0"),
    ({"attention": 1}, "attention: expected true or false, got 1"),
    ({"\ud800\n": 1}, FIELDS + r'got "\ud800\n"'),
]
CASES = [
    *VALUES,
    *(({**GOOD, **change}, message) for change, message in CHANGES),
    ({}, f"source: {WORDS}no such field"),
]
IDS = [f"{i}-{message[:30]}" for i, (_, message) in enumerate(CASES)]


@pytest.mark.parametrize(("request_", "message"), CASES, ids=IDS)
def test_bad_requests_are_refused(word_qe, request_, message):
    with pytest.raises(ValueError, match="expected") as caught:
        word_qe().predict_json(request_)
    assert str(caught.value) == message
    with pytest.raises(ValueError, match="expected") as caught:
        word_qe().predict_batch_json([GOOD, request_])
    assert str(caught.value) == f"item 1: {message}"


@pytest.mark.parametrize("batch", [None, GOOD, "text"])
def test_batches_that_are_no_lists_are_refused(word_qe, batch):
    with pytest.raises(ValueError, match="expected a list of objects, got"):
        word_qe().predict_batch_json(batch)
