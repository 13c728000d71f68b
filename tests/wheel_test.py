"""What the wheel and the source distribution hold. `readme_install_test.py` uses what is installed from them."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from allennlp_nef.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
# What a source distribution is made from.
SOURCES = (
    ".allennlp_plugins",
    ".ci",
    "*.cff",
    "*.in",
    "*.md",
    "*.pth",
    "*.py",
    "*.toml",
    "*.txt",
    "*.yml",
)
SOURCES += (
    "LICENSE",
    "Makefile",
    "allennlp_nef",
    "benchmarks",
    "demo",
    "docs",
    "fixtures",
    "tests",
)
SOURCES += ("training_configs",)


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
    no_caches = shutil.ignore_patterns("__pycache__")
    for path in (path for pattern in SOURCES for path in ROOT.glob(pattern)):
        if path.is_dir():
            shutil.copytree(str(path), str(folder / path.name), ignore=no_caches)
        else:
            shutil.copy(str(path), str(folder))
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
    assert sorted(files - set(files_in(folder))) == []


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
