"""The package's metadata and distributions, what it says where AllenNLP cannot be imported, and the Makefile.

`readme_install_test.py` uses what is installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from allennlp_nef.compat import OLDEST, WITHOUT_REQUIREMENTS, install_commands
from allennlp_nef.version import VERSION
from tests.readme_install_test import copy_checkout

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def lines_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


class TestMetadata:
    def test_citation_has_the_version_and_the_license(self):
        lines = lines_of("CITATION.cff")
        assert f"version: {VERSION}" in lines
        assert f"license: {PROJECT['license']}" in lines

    def test_constraints_are_exact_public_versions_in_the_ranges_of_the_project(self):
        lines = lines_of("constraints.txt")
        for line in lines:
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line
        versions = dict(line.split("==") for line in lines)
        versions = {canonicalize_name(name): version for name, version in versions.items()}
        texts = [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]
        for requirement in map(Requirement, texts):
            if requirement.name not in (PROJECT["name"], "eflomal"):
                version = versions[canonicalize_name(requirement.name)]
                assert requirement.specifier.contains(version), requirement

    def test_what_is_installed_without_requirements_is_the_same_everywhere(self):
        """In the README, the Makefile, the group of uv, and the messages."""
        line = f"--no-deps {' '.join(WITHOUT_REQUIREMENTS)}\n"
        for name in ("README.md", "Makefile", "docs/installation.md"):
            assert line in (ROOT / name).read_text(encoding="utf-8")
        assert install_commands()[1] == f"pip install {line.strip()}"
        assert PYPROJECT["dependency-groups"]["allennlp"][:-1] == list(WITHOUT_REQUIREMENTS)
        without_metadata = {each["name"] for each in PYPROJECT["tool"]["uv"]["dependency-metadata"]}
        assert without_metadata == {text.partition("==")[0] for text in WITHOUT_REQUIREMENTS}

    def test_oldest_versions_are_those_of_the_project(self):
        assert set(OLDEST) <= set(PROJECT["dependencies"])

    def test_plugin_file_names_the_package(self):
        assert lines_of(".allennlp_plugins") == ["allennlp_nef"]


class TestMessages:
    @staticmethod
    def last_line(before, code, *paths):
        """Of a process that has only the given folders and the checkout on its path."""
        setup = f"import sys\nsys.path[:0] = {[*map(str, paths), str(ROOT)]!r}\nimport _allennlp_nef_start\n"
        done = subprocess.run(
            [sys.executable, "-S", "-c", setup + before + "\n" + code],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    @pytest.mark.parametrize(
        "module",
        ["components", "data.dataset_readers", "models", "modules", "predictors", "training"],
    )
    def test_missing_allennlp_is_reported_with_commands(self, module):
        line = self.last_line("", f"import allennlp_nef.{module}")
        commands = f"pip install -e '{ROOT}[serve,plot]' && {install_commands()[1]}"
        assert (
            line == f"ImportError: allennlp_nef needs AllenNLP, which is not installed: {commands}"
        )

    @pytest.mark.parametrize(
        ("versions", "message"),
        [
            (
                {"torch": "1.12.1"},
                "needs torch>=2.8, got torch 1.12.1: pip install --upgrade 'torch>=2.8'",
            ),
            ({"transformers": "4.20.0"}, "needs transformers>=4.46, got transformers 4.20.0"),
            ({"allennlp": "1.5.0"}, "got allennlp 1.5.0: pip install --no-deps 'allennlp==2.10.1'"),
            ({}, "needs jsonnet, which is not installed: pip install jsonnet"),
        ],
    )
    def test_wrong_version_is_an_error_in_one_line(self, versions, message, tmp_path):
        (tmp_path / "allennlp").mkdir()
        (tmp_path / "allennlp" / "__init__.py").touch()
        for name, version in {"allennlp": "2.10.1", "torch": "2.8.0", **versions}.items():
            folder = tmp_path / f"{name}-{version}.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        for code in ("import allennlp", "import allennlp_nef"):
            assert message in self.last_line("", code, tmp_path)

    def test_commands_outside_a_checkout_name_no_folder(self, monkeypatch, tmp_path):
        monkeypatch.setattr(
            "allennlp_nef.compat.__file__", str(tmp_path / "allennlp_nef" / "compat.py")
        )
        assert install_commands()[0] == "pip install 'allennlp_nef[serve,plot]'"


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
class TestMakefile:
    @staticmethod
    def make(*arguments, **variables):
        done = subprocess.run(
            ["make", *arguments],
            cwd=str(ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={name: value for name, value in os.environ.items() if name[:4] != "MAKE"}
            | variables,
            check=False,
        )
        return done.returncode, done.stdout

    @pytest.mark.parametrize(
        ("python", "message"),
        [
            ("python0.0", "python0.0 cannot make a virtual environment"),
            ("", "expected Python 3.11, 3.12, 3.13 or 3.14, found none: install one"),
        ],
    )
    def test_missing_python_is_an_error(self, python, message, tmp_path):
        code, output = self.make("install", f"PYTHON={python}", f"VENV={tmp_path / 'new'}")
        assert code != 0
        assert message in output and "PYTHON=<python>" in output
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize(
        ("versions", "chosen"),
        [
            ({"python3": "3, 12", "python3.14": "3, 14"}, "python3"),
            ({"python3": "3, 9", "python3.11": "3, 11", "python3.13": "3, 13"}, "python3.13"),
            ({"python3": "3, 15", "python3.12": "", "python3.11": "3, 11"}, "python3.11"),
            ({"python3": "3, 10"}, ""),
        ],
    )
    def test_python_is_python3_or_else_the_newest_that_starts(self, versions, chosen, tmp_path):
        for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
            version = versions.get(name)
            program = tmp_path / name
            program.write_text(
                f"#!{sys.executable}\nimport sys; sys.version_info = ({version},)\nexec(sys.argv[2])\n"
                if version
                else "#!/bin/sh\nexit 127\n"
            )
            program.chmod(0o755)
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        code, output = self.make("help", f"VENV={tmp_path / 'new'}", PATH=path)
        assert code == 0
        assert f"Variables: PYTHON={chosen} VENV=" in output

    def test_folder_that_is_no_environment_is_left_alone(self, tmp_path):
        (tmp_path / "kept").write_text("kept")
        code, output = self.make("install", f"PYTHON={sys.executable}", f"VENV={tmp_path}")
        assert code != 0
        assert "Name another folder with VENV=<folder>" in output
        assert [path.name for path in tmp_path.iterdir()] == ["kept"]

    def test_train_runs_the_command_of_the_readme(self, tmp_path):
        new = tmp_path / "folder with spaces"
        code, output = self.make("-n", "train", f"PYTHON={sys.executable}", f"VENV={new}")
        assert code == 0, output
        command = (
            "allennlp train training_configs/qe_nef_f.jsonnet --include-package allennlp_nef"
            " -s runs/qe_nef_f"
        )
        assert command in output.splitlines() or command + " -f" in output.splitlines()

    def test_tests_end_with_their_time(self, tmp_path):
        code, output = self.make(
            "-n", "test", f"PYTHON={sys.executable}", f"VENV={tmp_path / 'new'}"
        )
        assert code == 0, output
        assert 'echo "make test took' in output.splitlines()[-1]


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def build(kind, source, output):
    """The wheel or the source distribution of a folder, made as pip makes it, with the setuptools that is here."""
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(output)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=str(source), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the checkout: a build leaves files in its folder."""
    folder = tmp_path_factory.mktemp("source")
    copy_checkout(folder)
    return folder


@pytest.fixture(scope="module")
def unpacked(source, tmp_path_factory):
    """The files of the source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    files = set(files_in(source))
    build("sdist", source, folder)
    with tarfile.open(str(folder / f"allennlp_nef-{VERSION}.tar.gz")) as archive:
        archive.extractall(str(folder))
    return folder / f"allennlp_nef-{VERSION}", files


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel that is built from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    build("wheel", unpacked[0], folder)
    return folder / f"allennlp_nef-{VERSION}-py3-none-any.whl"


def test_source_distribution_has_the_files_of_the_checkout(unpacked):
    folder, files = unpacked
    assert {
        "pyproject.toml",
        "training_configs/qe_nef_f.jsonnet",
        "fixtures/generate_qe.py",
    } <= files
    assert sorted(files - set(files_in(folder))) == [".gitignore"]


def test_wheel_has_the_package_the_examples_and_the_page(wheel):
    """A new subpackage has to be listed in pyproject.toml."""
    expected = {
        f"allennlp_nef/{name}": content for name, content in files_in(ROOT / "allennlp_nef").items()
    }
    for name in ("_allennlp_nef_start.py", "allennlp_nef.pth", "allennlp_nef_console.py"):
        expected[name] = (ROOT / name).read_bytes()
    fixtures = (f"fixtures/{name}" for name in ("ner", "pos", "qe", "sentences"))
    for folder in ("training_configs", *fixtures):
        for name, content in files_in(ROOT / folder).items():
            expected[f"allennlp_nef/examples/{folder}/{name}"] = content
    with zipfile.ZipFile(str(wheel)) as archive:
        installed = {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.startswith(f"allennlp_nef-{VERSION}.dist-info/")
        }
    assert sorted(installed) == sorted(expected)
    assert installed == expected
