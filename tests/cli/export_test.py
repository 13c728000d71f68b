"""`export`: the files that it writes, and the archives that it refuses."""

import sys

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli import export as command
from allennlp_nef.cli.export import export
from allennlp_nef.errors import UserError
from allennlp_nef.exporting.runner import Runner
from tests.cli.commands import output

REQUEST = {"tokens": ["Anna", "Berg", "met", "officials", "in", "Rome", "."]}


def test_exported_archive_tags_like_the_predictor(small_run, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    names = ["allennlp_nef", "runner.py", "tagger.int8.onnx", "tagger.json", "tagger.onnx"]
    lines = output(command, small_run(), tmp_path / "out", "--int8")
    assert lines == f"{tmp_path / 'out'}: {', '.join(names)}\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    (answer,) = Runner(tmp_path / "out").tag([REQUEST])
    assert answer["tags"] == load_predictor(small_run()).predict_json(REQUEST)["tags"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_missing_archive_and_missing_package_are_errors(small_run, tmp_path, monkeypatch):
    for folder in (str(tmp_path / "out"), str(tmp_path / "model.tar.gz")):
        with pytest.raises(UserError):
            export(str(tmp_path / "model.tar.gz"), folder)
    with pytest.raises(UserError):
        export(small_run(), small_run())  # would replace files of the run
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError):
        export(small_run(), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
