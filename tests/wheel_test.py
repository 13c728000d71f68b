"""The package as it is installed from a wheel, outside the checkout."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
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
    "*.lock",
    "*.md",
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
REQUEST = {
    "source": "often Paul brings this picture .",
    "target": "heute bringt Paul diese Tasse .",
}


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
    expected["allennlp_nef_console.py"] = (ROOT / "allennlp_nef_console.py").read_bytes()
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


@pytest.fixture
def program(wheel, tmp_path):
    """`program(folder, *arguments)`: `allennlp-nef` of an environment that has the wheel, as a process."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    answer = subprocess.run([str(python), "-c", ask], check=True, stdout=subprocess.PIPE)
    # All other packages are those of the environment that runs the tests. Its editable install of this package is not
    # active: a folder that a .pth file adds has its own .pth files ignored.
    others = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    site_packages = Path(answer.stdout.decode().strip())
    (site_packages / "others.pth").write_text("".join(f"{path}\n" for path in others))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    home = tmp_path / "home"
    home.mkdir()
    variables = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
    variables.update(HOME=str(home), OMP_NUM_THREADS="1")

    def start(folder, *arguments):
        return subprocess.Popen(
            [str(environment / "bin" / "allennlp-nef"), *map(str, arguments)],
            cwd=str(folder),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return start


def test_wheel_trains_predicts_plots_and_serves_in_an_empty_folder(program, tmp_path):
    def run(folder, *arguments):
        process = program(folder, *arguments)
        output = process.communicate(timeout=200)[0].decode("utf-8", "replace")
        assert process.returncode == 0, output
        return output

    empty = tmp_path / "empty"
    empty.mkdir()
    run(empty, "examples", "here")
    here = empty / "here"
    for name in ("training_configs", "demo"):
        assert files_in(here / name) == files_in(ROOT / name)
    for name in ("ner", "pos", "qe", "sentences"):
        assert files_in(here / "fixtures" / name) == files_in(ROOT / "fixtures" / name)

    settings = {"dataset_reader.max_instances": 50, "trainer.num_epochs": 1}
    run(here, "train", "training_configs/qe_nef_f.jsonnet", "-s", "run", "-o", json.dumps(settings))
    archive, name = "run/model.tar.gz", ("--predictor", "word_qe")
    tags = ("--predictor-args", '{"output_format": "tags"}', "--silent", "--output-file", "tags")
    run(here, "predict", archive, "fixtures/qe/test", "--use-dataset-reader", *name, *tags)
    output = run(here, "score-tags", "fixtures/qe/test.tags", "tags", "--format", "wmt")
    assert "F1-MULT" in output

    options = ("--output", "plots", "--limit", "1", "--format", "png", "--html")
    run(here, "plot-sketches", archive, "fixtures/qe/test", *options)
    assert (here / "plots" / "sentence-0001.png").read_bytes().startswith(b"\x89PNG")
    assert list((here / "plots").glob("*.html"))

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    served = ("--archive-path", archive, *name, "--static-dir", "demo", "--port", port)
    server = program(here, "serve", *served)
    try:
        page, answer = ask(server, port)
    finally:
        server.kill()
        server.communicate()
    assert page == (ROOT / "demo" / "index.html").read_bytes()
    assert len(json.loads(answer.decode())["tags"]) == 6


def ask(server, port):
    """The page and the answer to a request, once the server listens."""
    end = time.monotonic() + 200
    while True:
        assert server.poll() is None, server.communicate()[0].decode("utf-8", "replace")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.connect()
            break
        except OSError:
            assert time.monotonic() < end, "the server does not listen"
            time.sleep(0.1)
    connection.request("GET", "/")
    page = connection.getresponse().read()
    connection.request(
        "POST", "/predict", json.dumps(REQUEST), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse().read()
    connection.close()
    return page, answer
