"""`allennlp-nef review`: from a bitext and a model, or answers, to a report and the annotated file."""

import json
import math
import re
from pathlib import Path

import pytest

from allennlp_nef import load
from allennlp_nef.cli.review import review
from allennlp_nef.errors import UserError

REQUESTS = [
    {"source": "often Paul brings this picture .", "target": "heute  bringt Paul diese Tasse ."},
    {"source": "the house", "target": "das Haus"},
    {"source": "no translation", "target": ""},
]


@pytest.fixture
def tsv(write):
    return write("a.tsv", "".join(f"{r['source']}\t{r['target']}\n" for r in REQUESTS))


def content_of(path):
    return json.loads(re.search('id="page-data">(.*)</script>', path.read_text()).group(1))


def test_a_report_has_what_the_predictor_answers(tsv, archive_path, word_qe, tmp_path, console):
    report, annotated = tmp_path / "report.html", tmp_path / "out" / "a.tsv"
    options = ("--archive", archive_path, "--output", report, "--annotated", annotated)
    status, out, err = console("review", tsv, *options, "--json")
    assert status == 0, err
    assert "a.tsv:3: 1 of 3 sentences have no score" in err
    figures, content = json.loads(out), content_of(report)
    answers = [word_qe().predict(**request) for request in REQUESTS[:2]]
    flagged = [sum(tag == "BAD" for tag in answer["tags"]) for answer in answers]
    assert figures["sentences"], figures["scored"] == (3, 2)
    assert (figures["words"], figures["flagged_words"]) == (8, sum(flagged))
    assert figures["threshold"] == content["threshold"] == answers[0]["threshold"]
    for item, answer, request in zip(content["sentences"], answers, REQUESTS):
        assert item["source"] == request["source"] and item["target"] == request["target"]
        assert item["bad"] == pytest.approx(answer["bad_probabilities"], abs=1e-4)
        assert item["words"] == [place for word in answer["offsets"] for place in word]
        assert item["links"] == [index for link in answer["alignments"] for index in link]
        assert [span[:2] for span in item["spans"]] == [
            [s["start"], s["end"]] for s in answer["spans"]
        ]
    assert content["sentences"][2]["error"] == "there is no translation"
    rows = [line.split("\t") for line in annotated.read_text().splitlines()]
    assert [float(row[2]) for row in rows[:2]] == pytest.approx(
        [answer["sentence_score"] for answer in answers], abs=1e-4
    )
    assert rows[2][2:] == [""] * 5
    assert figures["accepted"] is None
    assert not any("accept" in item for item in content["sentences"])


def test_answers_with_decisions_are_counted_and_written(tsv, word_qe, write, tmp_path, console):
    decisions = [(0.9, True), (0.3, False)]
    answers = [
        {**word_qe().predict(**request), "error_free_probability": probability, "accept": accept}
        for request, (probability, accept) in zip(REQUESTS, decisions)
    ] + [{"error": "none"}]
    lines = write("answers.jsonl", "".join(json.dumps(answer) + "\n" for answer in answers))
    report, annotated = tmp_path / "report.html", tmp_path / "annotated.tsv"
    options = ("--answers", lines, "--output", report, "--annotated", annotated)
    status, out, err = console("review", tsv, *options)
    assert status == 0, err
    assert "1 of 2 sentences need no reviewer: 50.00%\n" in out
    assert review([tsv], answers=lines, output=str(report))["accepted"] == 1
    sentences = content_of(report)["sentences"]
    assert [(s["error_free_probability"], s["accept"]) for s in sentences[:2]] == decisions
    assert "accept" not in sentences[2]
    rows = [line.split("\t") for line in annotated.read_text().splitlines()]
    assert [row[-2:] for row in rows] == [["0.9000", "true"], ["0.3000", "false"], ["", ""]]


def test_answers_in_a_file_give_the_same_report(tsv, archive_path, word_qe, write, tmp_path):
    predictor = word_qe()
    answers = [predictor.predict(**request) for request in REQUESTS[:2]] + [{"error": "none"}]
    lines = write("answers.jsonl", "".join(json.dumps(answer) + "\n" for answer in answers))
    paths = [tmp_path / name for name in ("model.html", "answers.html")]
    figures = review([tsv], archive=str(archive_path), output=str(paths[0]))
    again = review([tsv], answers=lines, output=str(paths[1]))
    assert again == pytest.approx(figures)
    first, second = map(content_of, paths)
    for name in ("source", "target", "words", "source_words", "links", "tags"):
        assert [item[name] for item in first["sentences"][:2]] == [
            item[name] for item in second["sentences"][:2]
        ]
    assert second["sentences"][2]["error"] == "none"
    # The answers alone: with the words that they have.
    review([lines], output=str(paths[1]))
    alone = content_of(paths[1])["sentences"]
    assert [item["target"] for item in alone[:2]] == [r["target"] for r in REQUESTS[:2]]


def test_raw_text_is_split_by_tokenizers(write, tmp_path):
    text = write("raw.tsv", '"Yes", the house\t"Ja", das Haus.\n')
    tokenizer = {"type": "punctuation"}
    overrides = {
        f"validation_dataset_reader.{side}_tokenizer": tokenizer for side in ("source", "target")
    }
    predictor = load("qe-en-de", overrides=overrides)
    request = dict(zip(("source", "target"), Path(text).read_text().rstrip("\n").split("\t")))
    answer = predictor.predict(**request)
    assert answer["source"] == ['"', "Yes", '"', ",", "the", "house"]
    lines = write("answers.jsonl", json.dumps(answer) + "\n")
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    review([text], archive="qe-en-de", overrides=json.dumps(overrides), output=str(first))
    review([text], answers=lines, output=str(second))
    (one,), (other,) = (content_of(path)["sentences"] for path in (first, second))
    assert one["words"] == [place for word in answer["offsets"] for place in word]
    for name in ("words", "source_words", "links", "tags"):
        assert one[name] == other[name]


GOOD = {"tokens": ["das", "Haus"], "tags": ["OK", "BAD"], "bad_probabilities": [0.1, 0.6]}
SPAN = {"start": 4, "end": 8, "severity": "major", "probability": 0.6}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"tags": ["OK"]}, "tags: expected 2 item(s), one a word, got 1"),
        ({"tags": ["OK", "X"]}, "tags: expected OK, BAD, minor or major, got 'X'"),
        ({"bad_probabilities": None}, "bad_probabilities: expected a list"),
        (
            {"bad_probabilities": [0.1, math.nan]},
            "bad_probabilities: expected numbers from 0 to 1, got nan",
        ),
        (
            {"bad_probabilities": [0.1, 1.5]},
            "bad_probabilities: expected numbers from 0 to 1, got 1.5",
        ),
        ({"threshold": math.nan}, "threshold: expected a number or null, got nan"),
        ({"alignments": 5}, "alignments: expected a list, got 5"),
        ({"spans": 5}, "spans: expected a list, got 5"),
        (
            {"spans": [{**SPAN, "probability": math.nan}]},
            "spans: expected a start and an end within",
        ),
        ({"spans": [{**SPAN, "end": math.inf}]}, "spans: expected a start and an end within"),
        ({"threshold": 10**400}, "threshold: expected a number or null, got 1000"),
        ({"sentence_score": 10**400}, "sentence_score: expected a number, got 1000"),
        ({"spans": [{**SPAN, "start": 4.5}]}, "spans: expected a start and an end within"),
        ({"spans": [{**SPAN, "end": "8"}]}, "spans: expected a start and an end within"),
        ({"bad_probabilities": [True, 0.5]}, "bad_probabilities: expected a list, one item a word"),
        ({"alignments": [[0.7, 1]]}, "alignments: expected pairs (source index, target index)"),
        ({"tokens": ["der", "Hof"]}, "words: expected a word that the text has next"),
        ({"tagged": "source"}, "tagged: expected tags of the words of translations"),
        ({"sentence_score": None}, "sentence_score: expected a number, got None"),
        ({"accept": 1}, "accept: expected true or false, got 1"),
        ({"accept": True}, "error_free_probability: expected a number from 0 to 1, got None"),
        (
            {"alignments": [[0, 2]]},
            "alignments: expected target indices from 0 to 1, got 2 in 0-2",
        ),
        ({"spans": [{"start": 9}]}, "spans: expected a start and an end within 8 characters"),
    ],
)
def test_wrong_answers_are_errors_with_their_line(write, tmp_path, changes, message):
    text = write("a.tsv", "the house\tdas Haus\n")
    answer = {**GOOD, "sentence_score": 0.3, **changes}
    lines = write("answers.jsonl", json.dumps(answer) + "\n")
    with pytest.raises(UserError, match=r"answers\.jsonl:1: " + re.escape(message)):
        review([text], answers=lines, output=str(tmp_path / "report.html"))


@pytest.mark.parametrize(
    "options, message",
    [
        ((), "expected --output or --annotated, got neither"),
        (("--output", "x.html"), "a.tsv:1: expected answers with tags in it, or --archive or --answers"),
        (("--output", "x.html", "--archive", "a", "--answers", "b"), "expected one of --archive and --answers"),
        (("--output", "x.html", "--answers", "b", "-o", "{}"), "--overrides: expected --archive with it"),
    ],
)  # fmt: skip
def test_wrong_options(tsv, failure, options, message):
    assert message in failure("review", tsv, *options)


def test_the_archive_is_not_overwritten(tsv, write, failure):
    archive = write("model.tar.gz", "a model")
    message = failure("review", tsv, "--archive", archive, "--output", archive)
    assert f"--output: expected a file of its own, got '{archive}' again" in message
    assert Path(archive).read_text() == "a model"
