"""
Any JSON, and any line: a predictor answers it, or says what it expected.

FUZZ_SECONDS and FUZZ_SEED as in `readers_test`.
"""

import json
import re

import pytest

from allennlp_nef.errors import UserError
from tests.fuzz import cases
from tests.fuzz.mutations import ODD, mutate
from tests.fuzz.readers_test import check_sentence

CASES = 300
"""Of each predictor and way in."""
FIELDS = (
    *("sentence", "tokens", "source", "target", "alignments", "attention", "trace", "threshold"),
    *("min_probability", "describe", "", "Source", "tags"),
)
GOOD = {
    "nef_tagger": [
        {"sentence": "Anna met Paul in Rome ."},
        {"tokens": ["Anna", "10\u00a0000"], "attention": True, "min_probability": 0.5},
    ],
    "word_qe": [
        {"source": "the red house", "target": "das rote Haus", "alignments": "0-0 2-2"},
        {
            "source": ["a", "b"],
            "target": ["c"],
            "alignments": [[0, 0], "1-0"],
            "threshold": 0.1,
            "trace": True,
        },
    ],
}


def any_value(draw, depth=0):
    kind = draw.randrange(14 if depth < 4 else 10)
    if kind < 3:
        return "".join(
            draw.choice([*ODD, "a", "b ", "\ud800", "Haus"]) for _ in range(draw.randrange(5))
        )
    if kind < 5:
        return draw.choice([None, True, False, {}, [], ""])
    if kind < 7:
        return draw.choice(
            [0, 1, -1, 0.5, 1.0, 10**400, -(2**63), 1e308, float("nan"), float("inf"), 2**53]
        )
    if kind == 7:
        return " ".join(["a"] * draw.choice([1, 999, 1001, 5000]))
    if kind == 8:
        return ["x"] * draw.choice([1, 1000, 1001])
    if kind == 9:
        return draw.choice(["x" * 10**5, ["x" * 10**6], json.loads("[" * 300 + "]" * 300)])
    values = [any_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return values if kind < 12 else {draw.choice(FIELDS): value for value in values}


def any_request(draw, good):
    """A good request with other values in some fields, without some, or with more; or any value."""
    if draw.random() < 0.1:
        return any_value(draw)
    request = json.loads(json.dumps(draw.choice(good)))
    for _ in range(draw.choice([0, 1, 1, 1, 2])):
        name = draw.choice([*request, draw.choice(FIELDS)])
        value = request.get(name)
        if draw.random() < 0.2:
            request.pop(name, None)
        elif isinstance(value, list) and value and draw.random() < 0.5:
            value[draw.randrange(len(value))] = any_value(draw, 3)
        elif isinstance(value, str) and draw.random() < 0.5:
            text = mutate(draw, value.encode("utf-8", "surrogatepass"))
            request[name] = text.decode("utf-8", draw.choice(["replace", "surrogateescape"]))
        else:
            request[name] = any_value(draw)
    return request


def check_answer(answer):
    if "task" in answer:  # a description
        return
    check_sentence(answer["tokens"], answer["tags"])
    for name in ("probabilities", "bad_probabilities"):
        assert all(0 <= value <= 1 for value in answer.get(name, ()))
    json.dumps(answer, allow_nan=False)


def check_refusal(error):
    message = str(error)
    assert re.match(r"((item|request) \d+: )?(\w+(, \w+)?: )?expected ", message), message
    assert "got " in message and message.isprintable() and len(message) < 1000, message


@pytest.fixture(params=list(GOOD))
def predictor(request, predictor_of, archive_path, ner_archive):
    path = archive_path if request.param == "word_qe" else ner_archive
    return predictor_of(path, request.param, max_batch=3)


@pytest.fixture
def good(predictor):
    return GOOD["word_qe" if predictor.task == "word_qe" else "nef_tagger"]


def test_any_json_is_answered_or_refused(predictor, good):
    for request in good:
        check_answer(predictor.predict_json(request))

    def check(draw):
        many = draw.random() < 0.2
        value = any_request(draw, good)
        try:
            if many:
                value = [value, *(any_request(draw, good) for _ in range(draw.randrange(4)))]
                for answer in predictor.predict_batch_json(value):
                    check_answer(answer)
            else:
                check_answer(predictor.predict_json(value))
        except UserError as error:
            check_refusal(error)

    cases.run(f"{predictor.task} JSON", CASES, check)


def test_any_line_is_answered_or_refused(predictor, good):
    def check(draw):
        data = json.dumps(draw.choice(good), ensure_ascii=draw.random() < 0.5).encode("utf-8")
        line = mutate(draw, data).decode("utf-8", draw.choice(["replace", "surrogateescape"]))
        try:
            answer = predictor.predict_json(predictor.load_line(line))
        except UserError as error:
            check_refusal(error)
            return
        check_answer(answer)
        assert predictor.dump_line(answer).count("\n") == 1

    cases.run(f"{predictor.task} lines", CASES, check)


def test_skipped_lines_have_an_error(predictor_of, ner_archive):
    """With on_error, a batch of any lines has an answer or an error for each."""
    predictor = predictor_of(ner_archive, "nef_tagger", on_error="skip")

    def check(draw):
        lines = []
        for _ in range(3):
            data = mutate(draw, json.dumps(draw.choice(GOOD["nef_tagger"])).encode("utf-8"))
            lines.append(data.decode("utf-8", "surrogateescape"))
        answers = predictor.predict_batch_json([predictor.load_line(line) for line in lines])
        assert len(answers) == 3
        for answer in answers:
            if "error" in answer:
                assert set(answer) == {"error"} and "expected" in answer["error"]
            else:
                check_answer(answer)

    cases.run("skipped lines", CASES // 4, check)
