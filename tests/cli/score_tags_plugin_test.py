"""`allennlp score-tags` as a program where a file says that this package is a plugin."""

import os
import subprocess
import sys

import pytest

COLUMNS = "a B-A B-A\nb O B-A\n"
EXPECTED = "processed 2 tokens with 1 phrases; found: 2 phrases; correct: 1.\n"


@pytest.fixture
def run(root, tmp_path):
    """`run(folder, *arguments)`: exit status, stdout and the last line of stderr. The home folder is
    `tmp_path / "home"`."""
    (tmp_path / "home").mkdir()
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(root),
        "OMP_NUM_THREADS": "1",
    }

    def run(folder, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "allennlp", "score-tags", *map(str, arguments)],
            cwd=str(folder),
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.splitlines()[-1:]

    return run


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with columns to score."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "both.conll").write_text(COLUMNS)
    return folder


def test_the_command_runs_where_a_file_names_the_plugin(run, tmp_path, elsewhere):
    plugins = tmp_path / "home" / ".allennlp" / "plugins"
    plugins.parent.mkdir()
    plugins.write_text("allennlp_nef\n")
    status, out, _ = run(elsewhere, "both.conll", "--format", "conll")
    assert status == 0
    assert out.startswith(EXPECTED)
