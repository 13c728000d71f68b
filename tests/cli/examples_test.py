"""`examples`: what it writes, and what it refuses to write over."""

import json
from functools import partial

import pytest
from allennlp.common import Params

from allennlp_nef import resources


@pytest.fixture
def write(output):
    return partial(output, "examples")


@pytest.fixture
def fail(failure):
    return partial(failure, "examples")


def files_in(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}


def test_the_files_are_those_of_the_package(write, tmp_path):
    target = tmp_path / "new folder"
    out = write(target)
    counts = {}
    for name, source in resources.folders().items():
        written, originals = files_in(target / name), files_in(source)
        assert {path for path in originals if path.suffix not in (".py", ".pyc")} == set(written)
        for path, copy in written.items():
            assert copy.read_bytes() == originals[path].read_bytes()
        counts[name] = len(written)
    assert out.splitlines() == [
        *(f"{count} files: {target / name}" for name, count in counts.items()),
        *("Next:", f"    cd '{target}'"),
        "    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f",
    ]


def test_configs_read_data_that_are_written(write, tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    configs = sorted((tmp_path / "training_configs").glob("*.jsonnet"))[::8]
    assert configs
    for config in configs:
        params = Params.from_file(str(config)).as_dict()
        for name in ("train_data_path", "validation_data_path"):
            assert list(tmp_path.glob(f"{params[name]}*")), (config, name)
    assert json.loads((tmp_path / "demo" / "examples.json").read_text(encoding="utf-8"))


def test_existing_files_are_written_over_only_by_force(write, fail, tmp_path):
    path = tmp_path / "demo" / "index.html"
    path.parent.mkdir()
    path.write_text("mine")
    message = fail(tmp_path)
    assert message.startswith(f"error: {path}: expected no such file, got one (1 of ")
    assert message.endswith(" files exist): --force writes over them")
    assert path.read_text() == "mine"
    assert not (tmp_path / "fixtures").exists()
    write(tmp_path, "--force")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_folders_that_cannot_be_written_to(fail, tmp_path):
    (tmp_path / "file").touch()
    message = f"error: FOLDER: expected a folder, got the file {tmp_path / 'file'}"
    assert fail(tmp_path / "file") == message
    assert fail("") == "error: FOLDER: expected the name of a folder, got ''"


def test_the_folder_that_the_examples_are_in_is_refused(fail, root):
    assert "expected another folder than that of the examples" in fail(root, "--force")


def test_an_installed_package_has_them_inside(tmp_path, monkeypatch):
    checkout = resources.folders()
    assert checkout["fixtures"].parent == checkout["training_configs"].parent
    assert (checkout["training_configs"] / "qe_nef_f.jsonnet").is_file()
    (tmp_path / "examples").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path)
    assert resources.folders() == {
        "training_configs": tmp_path / "examples" / "training_configs",
        "fixtures": tmp_path / "examples" / "fixtures",
        "demo": tmp_path / "demo",
    }
