"""`tag-corpus`: its options. Jobs are run in tests/corpora."""

import sys
from functools import wraps

import pytest

from allennlp_nef.cli import tag_corpus as command
from allennlp_nef.errors import UserError
from tests.cli.commands import output


def test_options_reach_the_job(monkeypatch):
    job = pytest.importorskip("allennlp_nef.corpora._ray_job", exc_type=ImportError)
    calls = []

    @wraps(job.tag_corpus)
    def tag_corpus(**options):
        calls.append(options)
        return ["x"]

    monkeypatch.setattr(job, "tag_corpus", tag_corpus)
    arguments = ["run", "a.txt", "b.txt", "--output", "out", "--columns", '{"sentence": "text"}']
    arguments += ["--predictor-args", '{"batch_size": 8}', "--workers", "3", "--fields", "tags"]
    assert output(command, *arguments) == "x\n"
    (options,) = calls
    assert (options["archive"], options["inputs"]) == ("run", ["a.txt", "b.txt"])
    expected = {"columns": {"sentence": "text"}, "batch_size": 8, "workers": 3, "fields": ["tags"]}
    assert {name: options[name] for name in expected} == expected


def test_ray_is_needed(monkeypatch):
    monkeypatch.delitem(sys.modules, "allennlp_nef.corpora._ray_job", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError):
        output(command, "run", "a.txt", "--output", "out")


def test_wrong_json_is_an_error():
    with pytest.raises(UserError):
        output(command, "run", "a.txt", "--output", "out", "--columns", "{")
