"""The program `allennlp-nef`: help, exit statuses, errors in one line, and its defaults for AllenNLP's commands."""

import argparse
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError
from tqdm import tqdm

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.outputs import print_lines, write_text
from allennlp_nef.cli.program import record_on_own_line
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.version import VERSION
from tests.conftest import ROOT

CONFIG = "training_configs/qe_nef_f.jsonnet"
DEV = "fixtures/qe/dev"


def one_line(capsys):
    """The only line that was printed, apart from progress bars, which clear their line."""
    out, err = capsys.readouterr()
    lines = [line for line in re.split("[\r\n]+", err) if "it/s]" not in line and line.strip()]
    assert not out and len(lines) == 1
    return lines[0]


@pytest.fixture
def fail(monkeypatch):
    """`fail(error)`: every command raises this error."""

    def replace(error):
        def work(args):
            raise error

        args = argparse.Namespace(func=work)
        monkeypatch.setattr("allennlp_nef.cli.program.parse", lambda command: args)

    return replace


class TestHelp:
    def test_commands_of_both_packages_are_listed(self, nef, capsys):
        assert nef("--help") == 0
        text = capsys.readouterr().out
        names = (*COMMANDS, "train", "evaluate")
        assert all(re.search(rf"^    {name}\b", text, re.M) for name in names)
        assert "push-to-hf" not in text and "checklist" not in text
        assert nef() == 0
        assert sorted(capsys.readouterr().out.splitlines()) == sorted(text.splitlines())

    @pytest.mark.parametrize("name", (*COMMANDS, "train", "evaluate"))
    def test_help_of_a_command_has_an_example(self, nef, capsys, name):
        assert nef(name, "--help") == 0
        text = capsys.readouterr().out
        assert f"\n    allennlp-nef {name}" in text
        assert "--include-package" in text
        assert not re.search(r"\(default[^)]*\)\s+\(default", text)

    @pytest.mark.parametrize("name", ["predict", "serve"])
    def test_requests_in_a_help_text_are_accepted(self, nef, capsys, small_run, name):
        """The model is the one in the line of the request, or in the line before."""
        assert nef(name, "--help") == 0
        text = capsys.readouterr().out
        requests = re.findall(r"""(?:echo|-d) '({.*})'""", text)
        example = text[text.index("\n    ") :]
        run = small_run("qe" if "qe-multilingual -" in example else "ner")
        assert requests
        for request in map(json.loads, requests):
            load_predictor(run).predict_json(request)


def test_commands_without_a_model_start_without_torch():
    code = """
import sys
import _allennlp_nef_start
_allennlp_nef_start.is_program = True
from allennlp_nef.cli.program import WITHOUT_COMPONENTS, run

for command in ([], ["models"], *([name, "--help"] for name in WITHOUT_COMPONENTS)):
    try:
        run(command)
    except SystemExit as end:
        assert not end.code, command
    assert "torch" not in sys.modules, command
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


class TestMistakes:
    @pytest.mark.parametrize(
        "error, line",
        [
            (UserError("one\n  two"), "one two"),
            (DataFormatError("a:1: expected"), "a:1: expected"),
            (ConfigurationError("a 'key' is missing"), "a 'key' is missing"),
            (
                FileNotFoundError(2, "No such file or directory", "a"),
                "a: no such file or directory",
            ),
            (IsADirectoryError(21, "Is a directory", "a"), "a: is a directory"),
            (FileNotFoundError("file a not found"), "file a not found"),
            (
                OSError(28, "No space left on device"),
                f"no space left for the output, or in {tempfile.gettempdir()} (TMPDIR)",
            ),
        ],
        ids=repr,
    )
    def test_they_are_one_line_and_status_2(self, nef, fail, capsys, error, line):
        fail(error)
        assert nef("train") == 2
        assert capsys.readouterr() == ("", f"allennlp-nef: error: {line}\n")
        for arguments in (("--traceback", "train"), ("train", "--traceback")):
            with pytest.raises(type(error)):
                nef(*arguments)

    @pytest.mark.parametrize(
        "error", [ValueError("x"), TypeError("x"), OSError(5, "Input/output error")]
    )
    def test_bugs_are_raised(self, nef, fail, error):
        fail(error)
        with pytest.raises(type(error)):
            nef("train")

    def test_interruptions_have_their_status(self, nef, fail):
        fail(KeyboardInterrupt())
        assert nef("train") == 130

    @pytest.mark.parametrize(
        "text, word",
        [
            ("{ a: 1 b: 2 }", "config.jsonnet"),  # a comma is missing
            ("[1]", "config.jsonnet"),
            ("{ a: std.extVar('NONE') }", "NONE"),
            (b"{ a: '\xe9' }", "dataset_reader"),
            ("{}", "dataset_reader"),
            (None, "config.jsonnet"),  # a folder
        ],
    )
    def test_configs_that_cannot_be_read(self, nef, capsys, tmp_path, text, word):
        path = tmp_path / "config.jsonnet"
        if text is None:
            path.mkdir()
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        assert nef("train", path, "-s", tmp_path / "run") == 2
        assert word in one_line(capsys)
        assert not (tmp_path / "run").exists()

    # One for each place in which AllenNLP reads, builds or checks a config, and each of our own checks.
    @pytest.mark.parametrize(
        "place, value, word",
        [
            ("data_loader.batch_sampler.batch_size", "8", "batch_size"),
            ("include_in_archive", ["weights.th"], "include_in_archive"),
            ("model.type", "no.such.Model", "no.such.Model"),
            ("model.encoder.hidden_size", -5, "LstmSeq2SeqEncoder"),
            ("random_seed", "x", "'x'"),
            ("train_data_path", "none.conll", "none.conll"),
            ("trainer.num_epochs", 0, "num_epochs"),
        ],
    )
    def test_values_in_configs(self, nef, capsys, tmp_path, place, value, word):
        # few sentences, without unseen labels, which are a warning
        changes = {"validation_data_path": "fixtures/ner/train.conll", place: value}
        for reader in ("dataset_reader", "validation_dataset_reader"):
            changes[f"{reader}.max_instances"] = 5
        options = ("-s", tmp_path / "run", "-o", json.dumps(changes))
        assert nef("train", "training_configs/ner_nef_f_crf_5.jsonnet", *options) == 2
        assert word in one_line(capsys)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        "arguments, word",
        [
            (["score-tags", "none", "--format", "conll"], "none"),
            (["score-tags", "a", "--format", "x"], "conllu"),
            (["trian"], "train"),
            (["train", "none.jsonnet", "-s", "RUN"], "none.jsonnet"),
            (["train", CONFIG], "-s"),
            (["train", CONFIG, "-s", "RUN", "-o", "[1]"], "overrides"),
            (
                ["train", CONFIG, "-s", "RUN", "-o", "trainer.num_epochs=2"],
                '{"trainer.num_epochs": 2}',
            ),
            (["train", CONFIG, "-s", "RUN", "-o", '{"trainer.cuda_device": 99}'], "cuda_device"),
            (
                ["train", CONFIG, "-s", "RUN", "-o", '{"trainer.callbacks": ["wandb"]}'],
                "pip install wandb",
            ),
            (["train", CONFIG, "-s", "RUN", "-o", '{"model.encoder.input_size": 7}'], "input_size"),
            (["train", CONFIG, "-s", "RUN", "--include-package", "none"], "none"),
            (["train", CONFIG, "-s", "RUN", "--nothing"], "allennlp-nef train"),
            (["train", CONFIG, "-s", "README.md"], "README.md"),
            (["train", CONFIG, "-s", "fixtures"], "--force"),
            (["evaluate", "./fixtures", "data"], "config.json"),
            (["evaluate", "ARCHIVE", DEV, "--cuda-device", "9"], "GPU"),
            (["evaluate", "ARCHIVE", DEV, "--weights-file", "README.md"], "weights"),
            (["evaluate", "ARCHIVE", DEV, "-o", '{"model.nothing.x": 1}'], "nothing"),
            (["predict", "none", "requests.jsonl"], "qe-multilingual"),
            (["predict", "ARCHIVE", "none", "--threshold", "2"], "--threshold"),
            (["predict", "ARCHIVE", "none", "--threshold", "x"], "adaptive"),
            (["predict", "none", "none", "--predictor-args", '{"threshold": 2}'], "0 to 1"),
            (["predict", "ARCHIVE", "none", "--predictor-args", "{"], "--predictor-args"),
            (["predict", "ARCHIVE", "none", "--predictor-args", '{"nothing": 1}'], "nothing"),
            (["predict", "ARCHIVE", "none", "--output-file", "fixtures"], "fixtures"),
            (["check-data", "--reader", "none", "--train", "a"], "none"),
        ],
    )
    def test_options(self, nef, capsys, tmp_path, archive_path, arguments, word):
        paths = {"RUN": tmp_path / "RUN", "ARCHIVE": archive_path}
        assert nef(*(paths.get(each, each) for each in arguments)) == 2
        assert word in one_line(capsys)

    def test_data_of_a_training_are_named_with_their_line(self, nef, tmp_path, capsys):
        files = {"src": "a b\nc\n", "mt": "d\ne f\n", "tags": "OK\nOK Bad\n"}
        for ending, text in files.items():
            (tmp_path / f"some.{ending}").write_text(text)
        changes = f'{{"train_data_path": "{tmp_path}/some"}}'
        assert nef("train", CONFIG, "-s", tmp_path / "run", "-o", changes) == 2
        *_, line = capsys.readouterr().err.splitlines()
        assert line.startswith(f"allennlp-nef: error: {tmp_path}/some.tags:2: expected OK or BAD")


def test_version_is_that_of_this_package(nef, capsys):
    assert nef("--version") == 0
    assert capsys.readouterr().out == f"allennlp-nef {VERSION}\n"


def test_messages_begin_on_a_line_of_their_own(capsys):
    with tqdm(total=2, file=sys.stderr, mininterval=0) as bar:
        bar.update()
        record_on_own_line("a", 30, "a", 1, "b", (), None)
        *_, last = capsys.readouterr().err.split("\r")
        assert last == ""


def test_an_error_ends_the_line_of_a_progress_bar(nef, fail, capsys):
    fail(UserError("x"))
    tqdm(total=2, file=sys.stderr, mininterval=0).update()
    assert nef("train") == 2
    assert capsys.readouterr().err.splitlines()[-1] == "allennlp-nef: error: x"


def test_a_folder_for_downloads_that_cannot_be_made_is_named(nef, capsys, monkeypatch):
    monkeypatch.setattr("allennlp.common.file_utils.CACHE_DIRECTORY", "/dev/null/a/cache")
    assert nef("train", "none.jsonnet", "-s", "runs") == 2
    assert "none.jsonnet" in capsys.readouterr().err
    assert nef("train", "https://example.org/a.jsonnet", "-s", "runs") == 2
    error = capsys.readouterr().err
    assert "/dev/null/a" in error and "ALLENNLP_CACHE_ROOT" in error


def test_standard_output_is_not_opened_again(tmp_path):
    """A file it goes to keeps what it has."""
    code = """
from pathlib import Path
from allennlp_nef.cli.outputs import (write_text, open_output)

for path in ("-", "/dev/stdout", "/dev/fd/1"):
    write_text(Path(path), "b\\n")
    with open_output(path, "w") as file:
        file.write("c\\n")
"""
    with open(tmp_path / "out", "w") as out:
        out.write("a\n")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, cwd=ROOT, check=True)
    assert (tmp_path / "out").read_text() == "a\n" + "b\nc\n" * 3


def test_pipes_and_devices_are_written_and_not_replaced(tmp_path):
    write_text(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        text = pool.submit((tmp_path / "pipe").read_text)
        write_text(tmp_path / "pipe", "text")
        assert text.result() == "text"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_report_on_standard_output_is_all_that_is_printed(
    nef, tmp_path, archive_path, capfd, options
):
    (tmp_path / "a.tsv").write_text("source\ttarget\na\tb\n")
    archive = ("--archive", archive_path, "--output", "-")
    assert nef("review", tmp_path / "a.tsv", *archive, *options) == 0
    assert capfd.readouterr().out.rstrip().endswith("</html>")


def test_links_and_permissions_of_outputs_are_kept(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o600)
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_output_is_kept_and_named(tmp_path, number, status):
    code = f"""
import argparse, os, signal
from pathlib import Path
from allennlp_nef.cli import outputs, program

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

def work(args):
    with outputs.writing(Path({str(tmp_path)!r}, "out")) as draft:
        draft.write_text("half")
        os.kill(os.getpid(), {int(number)})

program.parse = lambda command: argparse.Namespace(func=work)
program.main()
"""
    program = [sys.executable, "-c", code, "predict"]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == status
    assert done.stderr.count("\n") == 1 and f"{tmp_path}/out.partial" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]
    assert (tmp_path / "out.partial").read_text() == "half"


def test_packages_are_included(nef, tmp_path, monkeypatch, capsys):
    (tmp_path / "both.conll").write_text("a B-A B-A\nb O B-A\n")
    (tmp_path / "package_of_a_user.py").write_text("print('included')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ("--format", "conll", "--include-package", "package_of_a_user")
    assert nef("score-tags", tmp_path / "both.conll", *options) == 0
    assert capsys.readouterr().out.startswith("included\nprocessed 2 tokens")


def test_commands_print_to_the_standard_output_as_it_is(monkeypatch):
    """Its encoding is not changed: characters that it lacks become escapes."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    print_lines(["a", "\u00e9 \U0001f600"])
    assert sys.stdout is stream
    assert stream.buffer.getvalue() == b"a\n\\xe9 \\U0001f600\n"


def test_output_that_nobody_reads_ends_the_program_quietly():
    read, write = os.pipe()
    os.close(read)
    code = "from allennlp_nef.cli.program import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "models", "--json"],
        **{"stdout": write, "stderr": subprocess.PIPE, "cwd": ROOT, "check": False},
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
