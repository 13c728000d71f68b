"""`export`: the files that it writes, and the archives that it refuses."""

import sys

import pytest

from allennlp_nef.cli import export as command
from allennlp_nef.cli.export import export
from allennlp_nef.errors import UserError
from allennlp_nef.exporting import export_folder
from tests.cli.commands import output


def test_an_archive_becomes_a_folder(small_run, tmp_path, monkeypatch):
    """With empty graphs: tests/exporting runs real ones."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    monkeypatch.setattr(
        export_folder, "write_graph", lambda *args: (args[-1] / "tagger.onnx").touch()
    )
    monkeypatch.setattr(export_folder, "quantize", lambda path, output: output.touch())
    names = ["allennlp_nef", "runner.py", "tagger.int8.onnx", "tagger.json", "tagger.onnx"]
    lines = output(command, small_run(), tmp_path / "out", "--int8")
    assert lines == f"{tmp_path / 'out'}: {', '.join(names)}\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
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
