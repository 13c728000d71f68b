"""The metadata of the package, what its distributions contain, and the Makefile."""

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

from allennlp_nef.compat import WITHOUT_DEPENDENCIES
from allennlp_nef.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
START = ("_allennlp_nef_start.py", "allennlp_nef.pth", "allennlp_nef.start")


def lines_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_citation_has_the_version_and_the_license():
    lines = lines_of("CITATION.cff")
    assert f"version: {VERSION}" in lines
    assert f"license: {PROJECT['license']}" in lines


def test_constraints_are_exact_versions_that_the_project_allows():
    lines = lines_of("constraints.txt")
    assert all(re.fullmatch(r"[\w.-]+==[A-Za-z0-9.]+", line) for line in lines)
    versions = dict(line.split("==") for line in lines)
    versions = {canonicalize_name(name): version for name, version in versions.items()}
    texts = [*PROJECT["dependencies"], *sum(PROJECT["optional-dependencies"].values(), [])]
    for requirement in map(Requirement, [*texts, *WITHOUT_DEPENDENCIES]):
        if requirement.name != PROJECT["name"]:
            version = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement


def test_what_is_installed_without_dependencies_is_the_same_everywhere():
    """For pip in the README, the Makefile and the documentation, and for uv."""
    line = f"--no-deps {' '.join(WITHOUT_DEPENDENCIES)}\n"
    names = ("README.md", "Makefile", "docs/installation.md")
    assert [name for name in names if line not in (ROOT / name).read_text("utf-8")] == []
    assert PYPROJECT["dependency-groups"]["allennlp"][:-1] == list(WITHOUT_DEPENDENCIES)
    entries = PYPROJECT["tool"]["uv"]["dependency-metadata"]
    assert {f"{each['name']}=={each['version']}" for each in entries} == {*WITHOUT_DEPENDENCIES}


def test_program_and_start_file_name_functions():
    from pkgutil import resolve_name

    (entry,) = lines_of("allennlp_nef.start")
    assert callable(resolve_name(entry))
    assert callable(resolve_name(PROJECT["scripts"]["allennlp-nef"]))
    assert lines_of("allennlp_nef.pth") == [f"import {entry.partition(':')[0]}"]
    assert lines_of(".allennlp_plugins") == ["allennlp_nef"]


# Distributions.


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def build(kind, source, output):
    """The path of the wheel, the editable wheel or the source distribution of a folder, built as pip builds it."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(output)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=str(source), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return output / done.stdout.splitlines()[-1]


@pytest.fixture
def source(tmp_path):
    """A copy of the files of the checkout that git tracks or would track: a build leaves files in its folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=str(ROOT),
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("needs a git checkout")
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target = tmp_path / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    return tmp_path / "source"


@pytest.mark.slow
def test_distributions_have_all_files(source, tmp_path):
    files = set(files_in(source))
    with tarfile.open(build("sdist", source, tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"allennlp_nef-{VERSION}"
    assert sorted(files - set(files_in(unpacked)) - {".gitignore"}) == []

    expected = {
        f"allennlp_nef/{name}": file for name, file in files_in(source / "allennlp_nef").items()
    }
    expected |= {name: (source / name).read_bytes() for name in START}
    fixtures = (f"fixtures/{name}" for name in ("ner", "pos", "qe", "sentences"))
    for folder in ("training_configs", *fixtures):
        for name, file in files_in(source / folder).items():
            expected[f"allennlp_nef/examples/{folder}/{name}"] = file
    with zipfile.ZipFile(build("wheel", unpacked, tmp_path)) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        installed = {name: archive.read(name) for name in names}
    assert sorted(installed) == sorted(expected)
    assert installed == expected


@pytest.mark.slow
def test_an_editable_installation_starts_and_is_silent_when_its_checkout_is_gone(source, tmp_path):
    site = tmp_path / "site"
    zipfile.ZipFile(build("editable", source, tmp_path)).extractall(site)
    assert {*START} <= {path.name for path in site.iterdir()}
    code = f"import site; site.addsitedir({str(site)!r}); from allennlp_server import __version__"
    (site / "allennlp_server").mkdir()
    (site / "allennlp_server" / "__init__.py").write_text("from nltk import __version__\n")

    def start():
        command = [sys.executable, "-S", "-c", code + "\nprint(type(__version__).__name__)"]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=str(tmp_path), check=False
        )

    assert start().stdout == "Placeholder\n"
    shutil.rmtree(source)
    code = code.partition("; from")[0] + "; __version__ = 1"
    done = start()
    assert (done.returncode, done.stdout, done.stderr) == (0, "int\n", "")


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_installs_only_with_a_supported_python_and_into_an_environment(tmp_path):
    (tmp_path / "kept").write_text("kept")
    for option, fix in (("PYTHON=", "PYTHON=PROGRAM"), ("PYTHON=python3", "VENV=FOLDER")):
        command = ["make", "--no-print-directory", "install", option, f"VENV={tmp_path}"]
        done = subprocess.run(command, cwd=str(ROOT), capture_output=True, text=True, check=False)
        assert done.returncode and f"set {fix}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
