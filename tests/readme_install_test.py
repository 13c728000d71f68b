"""The user's commands in an environment that has what the README's install block installs, and nothing more."""

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
REQUEST = {
    "source": "often Paul brings this picture .",
    "target": "heute bringt Paul diese Tasse .",
}
INCLUDE = ("--include-package", "allennlp_nef")
# Imports AllenNLP as its commands do, and then each public module of the package, and prints what that changed.
WALK = """
import importlib, json, logging, os, pkgutil, sys, warnings
import torch
from allennlp.commands import main
from allennlp.common.plugins import import_plugins

def state():
    loggers = {name: logger for name, logger in logging.root.manager.loggerDict.items() if name[:8] == "allennlp"}
    return {
        "environment": dict(os.environ),
        "threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
        "finders": list(map(repr, sys.meta_path)),
        "filters": list(map(str, warnings.filters)),
        "root": [str(logging.root.handlers), logging.root.level],
        "loggers": [f"{name} {getattr(logger, 'handlers', 0)}" for name, logger in loggers.items()
                    if getattr(logger, "handlers", 0) or getattr(logger, "level", 0)],
        "folder": [os.getcwd(), sorted(os.listdir())],
        "default type": str(torch.get_default_dtype()),
    }

def walk(name):
    module = importlib.import_module(name)
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_"):
            walk(f"{name}.{info.name}")

import_plugins()
import sklearn, scipy.stats, scipy.optimize, flask, matplotlib, transformers.utils
before = state()
walk("allennlp_nef")
after = state()
print(json.dumps({key: [before[key], after[key]] for key in before if before[key] != after[key]}))
print(len([name for name in sys.modules if name.startswith("allennlp_nef.")]))
"""


def install_block():
    """The commands of the README's section Install."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Install\n")[1]
    return re.search(r"```bash\n(.+?)```", section, re.DOTALL)[1]


@pytest.fixture(scope="session")
def installed(shared_folder):
    """A folder with a checkout, `checkout`, a model there, and an environment. All processes of a test run share it."""
    folder = shared_folder / "readme_install"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            folder.mkdir()
            copy_checkout(folder / "checkout")
            subprocess.run([sys.executable, "-m", "venv", str(folder / "environment")], check=True)
            link_requirements(folder)
            run(folder, "checkout", "bash", "-e", "-c", install_block())
            (folder / "other").mkdir()
            run(folder, "other", "allennlp-nef", "examples", "examples")
            settings = {"dataset_reader.max_instances": 50, "trainer.num_epochs": 1}
            options = ("training_configs/qe_nef_f.jsonnet", "-s", "run", "-o", json.dumps(settings))
            run(folder, "checkout", "allennlp", "train", *options, *INCLUDE)
            (folder / "other" / "examples" / "run").symlink_to(folder / "checkout" / "run")
    return folder


def link_requirements(folder):
    """Lets the environment have the requirements that are here: pip would download gigabytes of them."""
    linked = folder / "requirements"
    linked.mkdir()
    for distribution in required("allennlp_nef[serve,plot]").values():
        for name in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
            if not (linked / name).is_symlink():
                (linked / name).symlink_to(distribution.locate_file(name))
    (packages,) = (folder / "environment" / "lib").glob("python*/site-packages")
    (packages / "requirements.pth").write_text(f"{linked}\n")


def required(text):
    """By their names, the distributions that a requirement asks for, with those that they ask for."""
    distributions, texts, done = {}, [text], set()
    while texts:
        requirement = Requirement(texts.pop())
        if str(requirement) not in done:
            done.add(str(requirement))
            distribution = metadata.distribution(requirement.name)
            distributions[requirement.name] = distribution
            for part in map(Requirement, distribution.requires or ()):
                extras = requirement.extras or {""}
                if not part.marker or any(part.marker.evaluate({"extra": e}) for e in extras):
                    texts.append(str(part).partition(";")[0])
    del distributions["allennlp_nef"]
    return distributions


def copy_checkout(folder):
    """Copies what git has, as a user gets it with a clone."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=str(ROOT),
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(ROOT / name), str(folder / name), follow_symlinks=False)


def start(installed, place, *command):
    """A process in a folder, with the environment in front of the path."""
    variables = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}
    path = os.pathsep.join([str(installed / "environment" / "bin"), os.environ["PATH"]])
    variables.update(PATH=path, HOME=str(installed), OMP_NUM_THREADS="1")
    return subprocess.Popen(
        list(map(str, command)),
        cwd=str(installed / place),
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


def run(installed, place, *command, status=0):
    process = start(installed, place, *command)
    output = process.communicate(timeout=1200)[0]
    assert process.returncode == status, output
    return output


def test_the_four_commands_of_allennlp_run(installed):
    archive, data = "run/model.tar.gz", "fixtures/qe/test"

    def call(command, *arguments):
        run(installed, "checkout", "allennlp", command, *arguments, *INCLUDE)

    # `installed` has called the first one, train.
    call("evaluate", archive, data, "--output-file", "scores")
    assert "f1_mult" in json.loads((installed / "checkout" / "scores").read_text())
    options = ("--use-dataset-reader", "--predictor", "word_qe", "--silent", "--output-file")
    arguments = ("tags", "--predictor-args", '{"output_format": "tags"}')
    call("predict", archive, data, *options, *arguments)
    compared = ("fixtures/qe/test.tags", "tags", "--format", "wmt")
    assert "F1-MULT" in run(installed, "checkout", "allennlp-nef", "score-tags", *compared)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    served = ("--archive-path", archive, "--predictor", "word_qe", "--static-dir", "demo")
    server = start(installed, "checkout", "allennlp", "serve", *served, "--port", port, *INCLUDE)
    try:
        page, answer = ask(server, port)
    finally:
        server.kill()
        server.communicate()
    assert page == (ROOT / "demo" / "index.html").read_bytes()
    assert len(json.loads(answer)["tags"]) == 6


def ask(server, port):
    """The page and the answer to a request, once the server listens."""
    end = time.monotonic() + 200
    while True:
        assert server.poll() is None, server.communicate()[0]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.connect()
            break
        except OSError:
            assert time.monotonic() < end, "the server does not listen"
            time.sleep(0.1)
    connection.request("GET", "/")
    page = connection.getresponse().read()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/predict", json.dumps(REQUEST), headers)
    answer = connection.getresponse().read()
    connection.close()
    return page, answer


def test_plots_are_drawn(installed):
    options = ("--output", "plots", "--limit", "1", "--format", "png", "--html")
    arguments = ("plot-sketches", "qe-en-de", "fixtures/qe/test", *options)  # in the wheel
    run(installed, "other/examples", "allennlp-nef", *arguments)
    plots = installed / "other" / "examples" / "plots"
    assert (plots / "sentence-0001.png").read_bytes().startswith(b"\x89PNG")
    assert list(plots.glob("*.html"))


COMMANDS = {
    "align-words fixtures/qe/dev.src fixtures/qe/dev.mt --output links": "align",
    "export run/model.tar.gz exported": "export",
    "tag-corpus run/model.tar.gz fixtures/qe/test --output tagged --workers 1": "ray",
    "tag-corpus run/model.tar.gz corpus.parquet --output tagged": "ray",
    "score-tags fixtures/pos/dev.conllu fixtures/pos/dev.conllu --format conllu --trees": "trees",
}
FUNCTIONS = {
    "allennlp_nef.data.formats.labl_entries.entries_of_answers": "labl",
    "allennlp_nef.data.tokenizers.SacremosesTokenizer": "tokenize",
    "allennlp_nef.serving.create_app": "serve,gunicorn",
    "allennlp_nef.figures.style.check_installed": "plot",
    "allennlp_nef.data.dataset_readers.conllu.write_svg": "trees",
}
USE = """
import importlib, inspect, sys
from allennlp_nef_console import main
from allennlp_nef.errors import MissingExtraError

commands, functions = map(str.splitlines, sys.argv[1:])
print([main(command.split()) for command in commands])
sys.modules["matplotlib"] = None  # which is installed
for path in functions:
    module, name = path.rsplit(".", 1)
    function = getattr(importlib.import_module(module), name)
    needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    try:
        function(*(None for each in needed if each.kind is each.POSITIONAL_OR_KEYWORD))
    except MissingExtraError as error:
        print(error)
"""


def test_missing_extras_of_commands_and_functions_are_told_in_one_line(installed):
    place = "other/examples"
    (installed / place / "corpus.parquet").touch()
    arguments = map("\n".join, (COMMANDS, FUNCTIONS))
    lines = run(installed, place, "python", "-c", USE, *arguments).splitlines()
    assert str([2] * len(COMMANDS)) in lines
    told = [line for line in lines if ": expected the extra " in line]
    extras = [*COMMANDS.values(), *FUNCTIONS.values()]
    assert len(told) == len(extras)
    for line, extra in zip(told, extras):
        command = f"pip install 'allennlp_nef[{extra}]' ("
        assert f": expected the extra {extra}, which is not installed: {command}" in line


def test_public_modules_can_be_imported_and_change_nothing(installed):
    changes, modules = run(installed, "other", "python", "-c", WALK).splitlines()
    assert json.loads(changes) == {}
    assert int(modules) > 100


def test_python_starts_without_the_package(installed):
    code = (
        "import sys; print([name for name in sys.modules if 'allennlp' in name or name == 'torch'])"
    )
    assert run(installed, "other", "python", "-c", code) == "['_allennlp_nef_start']\n"
