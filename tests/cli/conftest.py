"""`allennlp-nef` in this process, files to score, and `allennlp score-tags` run on them."""

import logging
import os
import signal
import warnings
from contextlib import contextmanager
from functools import partial

import pytest

from tests.conftest import restored

LOGGERS = ("", "allennlp", "allennlp_nef", "allennlp_server")


@contextmanager
def restored_output(monkeypatch):
    """Puts back what the program changes in its process, besides what AllenNLP's commands change."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    states = [
        (logger.level, logger.handlers[:], logger.filters[:], logger.propagate)
        for logger in loggers
    ]
    handler = signal.getsignal(signal.SIGTERM)
    # Those of pytest and of other tests.
    for logger in loggers:
        logger.handlers.clear()
    with monkeypatch.context() as patch, warnings.catch_warnings():
        patch.setenv("PYTHONWARNINGS", "")
        for name in ("ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG"):
            patch.delenv(name, raising=False)
        try:
            yield patch
        finally:
            signal.signal(signal.SIGTERM, handler)
            for logger, (level, handlers, filters, propagate) in zip(loggers, states):
                logger.setLevel(level)
                logger.handlers[:], logger.filters[:] = handlers, filters
                logger.propagate = propagate


@pytest.fixture
def console(root, monkeypatch, capsys):
    """`console(*arguments, **environment)`: exit status, stdout and stderr; run in the checkout, which has a file of
    plugins."""
    from allennlp_nef_console import main

    def run(*arguments, **environment):
        capsys.readouterr()
        with restored(), restored_output(monkeypatch) as patch:
            os.chdir(str(root))
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                status = main([str(argument) for argument in arguments])
            except SystemExit as end:  # after --help and --version
                status = end.code
            return (status, *capsys.readouterr())

    return run


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    return write


@pytest.fixture
def output(allennlp, capsys):
    """`output(*arguments)`: what a command prints."""

    def run(*arguments):
        capsys.readouterr()
        allennlp(*arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def failure(allennlp, capsys):
    """`failure(*arguments)`: the line that a command prints before it exits with 2."""

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            allennlp(*arguments)
        assert end.value.code == 2
        out, err = capsys.readouterr()
        assert not out and "Traceback" not in err
        return err.splitlines()[-1]

    return run


@pytest.fixture
def score(output):
    return partial(output, "score-tags")


@pytest.fixture
def fail(failure):
    return partial(failure, "score-tags")
