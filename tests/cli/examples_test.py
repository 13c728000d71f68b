"""`examples`: what it writes, and what it does not overwrite."""

import pytest

from allennlp_nef import resources
from allennlp_nef.cli import examples as command
from allennlp_nef.errors import UserError
from tests.cli.commands import output


def files_in(folder):
    return {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}


def test_files_are_those_of_the_package(tmp_path):
    target = tmp_path / "new folder"
    text = output(command, target)
    for name, source in resources.folders().items():
        written, originals = files_in(target / name), files_in(source)
        assert {path for path in originals if path.suffix not in (".py", ".pyc")} == set(written)
        assert all(
            copy.read_bytes() == originals[path].read_bytes() for path, copy in written.items()
        )
        assert f"wrote {target / name}\n" in text
    assert f"    cd '{target}'\n" in text


def test_existing_files_are_overwritten_only_by_force(tmp_path):
    path = tmp_path / "pages" / "index.html"
    path.parent.mkdir()
    path.write_text("mine")
    with pytest.raises(UserError):
        output(command, tmp_path)
    assert path.read_text() == "mine" and not (tmp_path / "fixtures").exists()
    output(command, tmp_path, "--force")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_installed_package_has_them_inside(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path)
    folders = {name: tmp_path / "examples" / name for name in ("training_configs", "fixtures")}
    assert resources.folders() == {**folders, "pages": tmp_path / "pages"}
