"""Fixtures of several tests: AllenNLP's commands, in this process and as programs, and small trained models."""

import json
import logging
import os
import socket
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

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


@pytest.fixture
def write_text(tmp_path):
    """`write_text(name, text)`: writes a file in `tmp_path`, and returns its path."""

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


@pytest.fixture
def benchmarks(monkeypatch):
    """The programs in benchmarks/ and recipes/ can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))


@pytest.fixture
def offline(monkeypatch):
    """Any network connection is an error."""

    def connect(*arguments):
        raise AssertionError(f"expected no connection, got one to {arguments[1:]}")

    monkeypatch.setattr(socket.socket, "connect", connect)


@pytest.fixture(scope="session")
def plugins_once():
    """AllenNLP looks for plugins once. It takes longer than most commands, each of which does it."""
    from allennlp import commands
    from allennlp.commands import train
    from allennlp.common import plugins

    import_once = cache(plugins.import_plugins)
    with pytest.MonkeyPatch.context() as patch:
        for module in (commands, train, plugins):
            patch.setattr(module, "import_plugins", import_once)
        yield


@pytest.fixture(scope="session")
def allennlp(plugins_once):
    """`allennlp(*arguments)`: AllenNLP's command line, run in the checkout and in this process."""
    from allennlp import commands

    def run(*arguments):
        with restored():
            os.chdir(str(ROOT))
            sys.argv = ["allennlp", *map(str, arguments)]
            commands.main(prog="allennlp")

    return run


@pytest.fixture
def nef(monkeypatch, plugins_once):
    """`nef(*arguments)`: runs `allennlp-nef` in this process, and returns its exit status."""
    from allennlp_nef.cli.program import run

    def call(*arguments):
        with restored():
            monkeypatch.chdir(ROOT)
            try:
                return run(list(map(str, arguments)))
            except SystemExit as end:
                return end.code

    return call


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """`small_run(name)`: the folder of the run of a small model, "ner", "pos", "plain" (without steps) or "qe"."""
    from tests import small_batches
    from tests.predictors import small_models
    from tests.qe import small_qe

    @cache
    def save(name="ner"):
        folder = tmp_path_factory.mktemp("runs") / name
        config = small_qe.CONFIG if name == "qe" else small_models.CONFIGS[name]
        model, _ = small_qe.train() if name == "qe" else small_models.train(name)
        small_batches.save_run(folder, model, config)
        return str(folder)

    return save


@pytest.fixture(scope="session")
def packaged():
    """`packaged(name)`: a model of the package, loaded once. Tests do not change it."""
    from allennlp_nef import load

    return cache(load)


@pytest.fixture(scope="session")
def xlm_roberta(tmp_path_factory):
    """The folder of a small XLM-R."""
    from tests.small_transformer import save_xlm_roberta

    folder = tmp_path_factory.mktemp("encoder") / "xlm_roberta"
    save_xlm_roberta(folder)
    return str(folder)


@pytest.fixture(scope="session")
def small():
    """`small(sentences=..., epochs=..., **overrides)`: the arguments of a short training."""

    def arguments(sentences=200, epochs=3, **overrides):
        settings = {
            "dataset_reader.max_instances": sentences,
            "trainer.num_epochs": epochs,
            **overrides,
        }
        return ["-o", json.dumps(settings)]

    return arguments


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    """`made_once(name, make)`: a folder that `make(folder)` writes once for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent

    def folder_of(name, make):
        folder, done = base / "made" / name / "run", base / "made" / f"{name}.done"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(done.with_suffix(".lock")):
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def trained(allennlp, small, made_once):
    """`trained(config, **settings)`: the archive of a short training."""

    def train(config, **settings):
        command = ("train", f"training_configs/{config}.jsonnet", *small(**settings), "-s")
        name = "-".join([config, *map(str, settings.values())])
        return made_once(name, lambda folder: allennlp(*command, folder)) / "model.tar.gz"

    return train


@pytest.fixture(scope="session")
def archive_path(trained):
    """The archive of a NEF-F quality estimator, trained on 200 sentences."""
    return trained("qe_nef_f")


@pytest.fixture(scope="session")
def pos_archive(trained):
    """The archive of a part-of-speech tagger, trained on 150 sentences."""
    return trained("pos_nef_f_csoftmax", sentences=150)


@pytest.fixture(scope="session")
def ner_archive(trained):
    """The archive of a tagger of named entities with a CRF, trained on 200 sentences."""
    return trained("ner_nef_f_crf_5")
