"""`tag-corpus`: its options, and a job on a local Ray."""

import json
import sys

import pytest

from allennlp_nef.cli import tag_corpus as command
from allennlp_nef.errors import UserError
from tests.cli.commands import output

SENTENCES = ["Anna Berg met officials in Rome .", "", "Paul slept ."]


@pytest.fixture
def files(tmp_path):
    """Two files of the same sentences."""
    (tmp_path / "a.txt").write_text("\n".join(SENTENCES))
    rows = [{"id": i, "text": text} for i, text in enumerate(SENTENCES)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.mark.slow
def test_files_are_tagged_and_jobs_resume(small_run, files, monkeypatch, request):
    ray = pytest.importorskip("ray")
    request.addfinalizer(ray.shutdown)
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))

    def rows_of(folder):
        paths = sorted(folder.glob("*.json"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    options = ("--fields", "tags")
    output(command, small_run(), files / "a.txt", "--output", files / "a", *options)
    tagged = rows_of(files / "a")
    assert [row["sentence"] for row in tagged] == SENTENCES
    assert [row["error"] is None for row in tagged] == [True, False, True]
    assert tagged[2]["tags"] == ["B-PER", "O", "O"]
    options = (*options, "--columns", '{"sentence": "text"}', "--id-column", "id")
    for _ in range(2):  # the second run finds all rows finished
        output(command, small_run(), files / "b.jsonl", "--output", files / "b", *options)
        own = [{"text": row.pop("text"), **row} for row in rows_of(files / "b")]
        expected = [
            {"text": row["sentence"], "id": i, "tags": row["tags"], "error": row["error"]}
            for i, row in enumerate(tagged)
        ]
        assert own == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.txt", "--output", "out", "--columns", "{"),
        ("a.txt", "--output", "out", "--fields", "heads"),
        ("a.txt", "--output", "out", "--predictor-args", '{"threshold": 2, "x": 1}'),
        ("a.txt", "b.jsonl", "--output", "out"),
        ("a.csv", "--output", "out"),
        ("a.txt", "--output", "."),
    ],
)
def test_wrong_options_are_errors_before_ray_starts(small_run, files, monkeypatch, nef, arguments):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "init", None)
    paths = [files / each if "." in each and "{" not in each else each for each in arguments]
    assert nef("tag-corpus", small_run(), *paths) == 2


def test_ray_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError):
        output(command, "run", "a.txt", "--output", "out")
