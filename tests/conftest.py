"""Fixtures of several tests: AllenNLP's commands, in this process and as a program, and small trained models."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from unittest.mock import patch

import pytest
from filelock import FileLock

# Before torch is imported: a fork has none of the threads of its parent, and would wait for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def restored():
    """Restores the folder, arguments, exception hook and loggers that AllenNLP's commands change."""
    from allennlp.common.tqdm import logger as tqdm_logger

    folder, arguments, hook = os.getcwd(), sys.argv, sys.excepthook
    loggers = [logging.getLogger(), tqdm_logger]
    states = [(logger.level, logger.handlers[:]) for logger in loggers]
    try:
        yield
    finally:
        os.chdir(folder)
        sys.argv, sys.excepthook = arguments, hook
        added = {handler for logger in loggers for handler in logger.handlers}
        for logger, (level, handlers) in zip(loggers, states):
            logger.setLevel(level)
            logger.handlers[:] = handlers
            added.difference_update(handlers)
        for handler in added:
            handler.close()


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """The folder of programs that start at once: see `docs_programs.py`."""
    from tests.docs_programs import programs

    with programs(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


@pytest.fixture
def offline(monkeypatch):
    """Any network connection is an error."""

    def connect(*arguments):
        raise AssertionError(f"expected no connection, got one to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(scope="session")
def allennlp():
    """`allennlp(*arguments)`: the command line, run in the checkout and in this process.

    An exception is printed as a program prints it, and then raised.
    """
    from allennlp import commands
    from allennlp.common.plugins import import_plugins

    # AllenNLP looks for the modules of all plugins in each call, which takes longer than most commands.
    import_once = lru_cache(maxsize=None)(import_plugins)

    def run(*arguments):
        with restored():
            os.chdir(str(ROOT))
            sys.argv = ["allennlp", *map(str, arguments)]
            sys.excepthook = sys.__excepthook__  # a training of another test may have changed it
            try:
                with patch.object(commands, "import_plugins", import_once):
                    commands.main(prog="allennlp")
            except Exception:
                sys.excepthook(*sys.exc_info())  # as at the end of a program
                raise

    return run


@pytest.fixture(scope="session")
def start_allennlp():
    """`start_allennlp(folder, *arguments)`: `allennlp-nef` as a program of its own.

    A context manager of the process, which it ends. The program writes to `stdout.txt` and `stderr.txt` in the folder.
    """

    @contextmanager
    def start(folder, *arguments):
        with (
            open(str(folder / "stdout.txt"), "wb") as out,
            open(str(folder / "stderr.txt"), "wb") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "allennlp_nef_console", *map(str, arguments)],
                cwd=str(ROOT),
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    return start


@pytest.fixture(scope="session")
def serve(start_allennlp):
    """`serve(folder, archive, predictor, *arguments)`: `allennlp-nef serve` as a program, at a free port.

    A context manager of the process and the port; it waits until the server listens.
    """

    @contextmanager
    def start(folder, archive, predictor, *arguments):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        options = ("--archive-path", archive, "--predictor", predictor, "--port", port)
        with start_allennlp(folder, "serve", *options, *arguments) as process:
            end = time.monotonic() + 240
            while True:
                assert process.poll() is None, (folder / "stderr.txt").read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < end, "the server does not listen"
                    time.sleep(0.1)
            yield process, port

    return start


@pytest.fixture(scope="session")
def small():
    """`small(sentences=..., epochs=..., **overrides)`: the arguments of a short training with `-o`."""

    def arguments(sentences=200, epochs=3, **overrides):
        settings = {
            "dataset_reader.max_instances": sentences,
            "trainer.num_epochs": epochs,
            **overrides,
        }
        return ["-o", json.dumps(settings)]

    return arguments


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder that all processes of a test run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def trained(allennlp, small, shared_folder):
    """`trained(config, **settings)`: the archive of a short training, of which each test run has one."""

    def train(config, **settings):
        name = "-".join([config, *map(str, settings.values())])
        folder = shared_folder / "trained" / name / "run"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent.with_suffix(".lock")):
            if not (folder / "model.tar.gz").exists():
                path = f"training_configs/{config}.jsonnet"
                allennlp("train", path, "-s", folder, *small(**settings))
        return folder / "model.tar.gz"

    return train


@pytest.fixture(scope="session")
def archive_path(trained):
    """The archive of a NEF-F quality estimator, trained on 200 sentences."""
    return trained("qe_nef_f")


@pytest.fixture(scope="session")
def spans_archive(trained):
    """The archive of a BiLSTM quality estimator with severities, trained on 200 sentences."""
    return trained("qe_bilstm_spans")


@pytest.fixture(scope="session")
def pos_archive(trained):
    """The archive of a part-of-speech tagger, trained on 150 sentences."""
    return trained("pos_nef_f_csoftmax", sentences=150)


@pytest.fixture(scope="session")
def ner_archive(trained):
    """The archive of a tagger of named entities with a CRF, trained on 200 sentences."""
    return trained("ner_nef_f_crf_5")


@pytest.fixture(scope="session")
def baselines(trained):
    """The archives of small baselines by the names of their configs, each trained for one epoch on 30 sentences.

    A model is trained when a test asks for it for the first time.
    """

    class Archives(dict):
        def __missing__(self, name):
            return trained(name, sentences=30, epochs=1)

    return Archives()


@pytest.fixture(scope="session")
def predictor_of():
    """`predictor_of(archive_path, name, **arguments)`: a predictor, the model's default if `name` is None."""
    from allennlp.models import load_archive
    from allennlp.predictors import Predictor

    archives = {}

    def make(path, name=None, **arguments):
        if path not in archives:
            archives[path] = load_archive(str(path))
        return Predictor.from_archive(archives[path], name, extra_args=arguments)

    return make


@pytest.fixture(scope="session")
def word_qe(archive_path, predictor_of):
    """`word_qe(**arguments)`: the predictor "word_qe" of the quality estimator."""
    return partial(predictor_of, archive_path, "word_qe")
