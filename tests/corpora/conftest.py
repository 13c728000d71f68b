"""Sentences, and `allennlp-nef`, for the tests of corpora."""

import os

import pytest

from tests.cli.conftest import restored_output
from tests.conftest import restored

FRENCH = ["Les", "enfants", "peuvent", "livrer", "des", "tables", ".", "Anna", "habite", "Rome"]
ENGLISH = ["the", "doctors", "see", "three", "cups"]


@pytest.fixture(scope="session")
def sentences():
    """`sentences(count)`: lists of 1 to 9 words, in an order that is not that of their lengths."""
    words = FRENCH + ENGLISH

    def make(count):
        return [
            [words[(i * 7 + j) % len(words)] for j in range(1 + i * 5 % 9)] for i in range(count)
        ]

    return make


@pytest.fixture
def tag(baselines, monkeypatch, capsys, tmp_path):
    """`tag(model, *inputs, *options)`: exit status, the joined parts, stdout and stderr of `tag-corpus`.

    The model is a name or an archive.

    It works in an empty folder: the checkout has plugins, which take a second to import.
    """
    from allennlp_nef_console import main

    def run(model, *arguments, folder=tmp_path / "tagged"):
        capsys.readouterr()
        options = [
            model if os.path.exists(model) else baselines[model],
            *arguments,
            "--output",
            folder,
        ]
        with restored(), restored_output(monkeypatch) as patch:
            os.chdir(str(tmp_path))
            patch.setenv("TQDM_DISABLE", "1")
            try:
                status = main(["tag-corpus", *map(str, options)])
            except SystemExit as end:  # of --strict
                status = end.code
        parts = [path.read_bytes() for path in sorted(folder.glob("part-*"))]
        return (status, b"".join(parts), *capsys.readouterr())

    return run
