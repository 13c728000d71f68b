import io
import json
import sys

import pytest

from allennlp_nef.data.formats.wmt_word_qe import read_examples

REQUESTS = [
    {"source": "the doctors see three cups .", "target": "die Schwestern sehen drei Tassen ."},
    {"source": ["a", "cup"], "target": ["eine", "Tasse"], "alignments": "0-0 1-1"},
    {
        "source": "the Küche",
        "target": "die \u200b \u0142",
        "alignments": [[0, 0]],
        "attention": True,
    },
]


def write_requests(folder, requests):
    """With a blank line, and what is not ASCII as it is where UTF-8 has bytes for it."""
    lines = []
    for request in requests:
        line = json.dumps(request, ensure_ascii=False)
        lines.append(line.encode("utf-8", "backslashreplace").decode("utf-8"))
    path = folder / "requests.jsonl"
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("batch_size, silent", [(1, ["--silent"]), (2, [])])
def test_answers_are_those_of_the_predictor(
    allennlp, archive_path, word_qe, tmp_path, capsys, batch_size, silent
):
    output = tmp_path / "output.jsonl"
    allennlp(
        *("predict", archive_path, write_requests(tmp_path, REQUESTS), "--output-file", output),
        *("--predictor", "word_qe", "--batch-size", batch_size, *silent),
    )
    answers = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(answers) == 3
    for answer, request in zip(answers, REQUESTS):
        expected = word_qe().predict_json(request)
        assert set(answer) == set(expected)
        assert answer["tokens"] == expected["tokens"]
        assert answer["tags"] == expected["tags"]
        assert answer["bad_probabilities"] == pytest.approx(expected["bad_probabilities"], abs=1e-5)
    printed = capsys.readouterr().out
    assert printed.count("prediction: ") == (0 if silent else 3)


def test_requests_are_read_from_standard_input(allennlp, archive_path, tmp_path, monkeypatch):
    lines = "".join(json.dumps(request) + "\n" for request in REQUESTS)
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    output = tmp_path / "output.txt"
    allennlp(
        *("predict", archive_path, "-", "--output-file", output),
        *("--predictor-args", '{"output_format": "text"}'),
    )
    text = output.read_text(encoding="utf-8").replace("/BAD", "")
    assert text == "die Schwestern sehen drei Tassen .\neine Tasse\ndie \u200b \u0142\n"


@pytest.mark.parametrize("labeled", [True, False])
def test_submission_has_a_row_for_each_word(allennlp, archive_path, root, tmp_path, labeled):
    prefix = root / "fixtures" / "qe" / "test"
    if not labeled:
        for ending in ("src", "mt"):
            text = (root / "fixtures" / "qe" / f"test.{ending}").read_text(encoding="utf-8")
            (tmp_path / f"test.{ending}").write_text(text, encoding="utf-8")
        prefix = tmp_path / "test"
    output = tmp_path / "output.tsv"
    allennlp(
        *("predict", archive_path, prefix, "--use-dataset-reader", "--silent"),
        *("--batch-size", 64, "--output-file", output),
        *("--predictor-args", '{"output_format": "tsv", "method": "NEF-F"}'),
    )
    rows = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row[:4] for row in rows] == [
        ["NEF-F", str(sentence), str(index), word]
        for sentence, example in enumerate(read_examples(str(prefix)))
        for index, word in enumerate(example.target)
    ]
    assert {row[4] for row in rows} == {"OK", "BAD"}
