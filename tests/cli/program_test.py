"""The command line of `allennlp-nef`: its help, and commands of AllenNLP and of this package."""

import json
import re
import socket
import sys
from importlib.metadata import version

import pytest

from allennlp_nef.cli import COMMANDS

CONFIG = "training_configs/qe_nef_f.jsonnet"
COLUMNS = "a B-A B-A\nb O B-A\n"


@pytest.fixture
def both(tmp_path):
    """A file with gold and predicted chunk tags."""
    path = tmp_path / "both.conll"
    path.write_text(COLUMNS)
    return path


class TestHelp:
    def test_the_list_of_commands_is_that_of_allennlps_registry(self, console):
        pytest.importorskip("allennlp_server")
        from allennlp.commands import Subcommand
        from allennlp.common.plugins import import_plugins

        import_plugins()
        status, out, _ = console("--help")
        assert status == 0
        lists = re.findall(r"^commands of \w+:\n((?:  .+\n)+)", out, re.MULTILINE)
        listed = [line.split()[0] for text in lists for line in text.splitlines()]
        own = set(COMMANDS)
        assert sorted(listed) == sorted(own | set(Subcommand.list_available()))
        assert "--traceback" in out

    def test_no_arguments_print_the_help(self, console):
        assert console() == console("--help")

    def test_options_are_those_of_allennlps_program(self, console, allennlp, capsys):
        command = "calibrate"
        status, out, _ = console(command, "--help")
        assert status == 0
        assert f"\n    allennlp-nef {command} " in out  # an example
        capsys.readouterr()
        with pytest.raises(SystemExit):
            allennlp(command, "--help")
        other = capsys.readouterr().out
        assert f"\n    allennlp {command} " in other
        start = "\npositional arguments:\n"
        assert out.split(start)[1] == other.split(start)[1]
        assert "--include-package" in other

    def test_version_names_what_is_installed(self, console):
        from allennlp.version import VERSION

        import allennlp_nef

        status, out, _ = console("--version")
        assert status == 0
        python = ".".join(map(str, sys.version_info[:3]))
        assert out.splitlines() == [
            f"allennlp_nef {allennlp_nef.__version__}",
            f"AllenNLP {VERSION}",
            f"torch {version('torch')}",
            f"Python {python}",
        ]


class TestOwnCommands:
    def test_packages_are_included(self, console, both, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(str(tmp_path))
        (tmp_path / "package_of_a_user.py").write_text("print('included')\n")
        option = ("--include-package", "package_of_a_user")
        status, out, _ = console("score-tags", both, "--format", "conll", *option)
        assert status == 0
        assert out.startswith("included\nprocessed 2 tokens")


class TestAllenNlpsCommands:
    def test_training_shows_scores_and_logs_everything(self, console, small, tmp_path):
        limits = {"validation_dataset_reader.max_instances": 8}
        arguments = ("train", CONFIG, "-s", tmp_path / "run", *small(16, epochs=2, **limits))
        status, out, err = console(*arguments)
        assert status == 0
        lines = out.splitlines()
        assert lines[0] == "Epoch 0/1"
        assert lines[1].split() == ["Training", "|", "Validation"]
        tables, metrics = out.split("Metrics: ")
        assert tables.count("f1_mult") == 2
        assert json.loads(metrics) == json.loads((tmp_path / "run" / "metrics.json").read_text())
        for line in err.replace("\r", "\n").splitlines():
            assert not line or "it/s" in line or "s/it" in line  # progress bars
        log = (tmp_path / "run" / "out.log").read_text()
        assert " - INFO - allennlp.common.checks - " in log
        assert " - INFO - allennlp.training.callbacks.console_logger - f1_mult" in log

    def test_evaluation_shows_its_result(self, console, archive_path, tmp_path):
        arguments = ("evaluate", archive_path, "fixtures/qe/dev")
        limit = ("-o", '{"validation_dataset_reader.max_instances": 8}')
        status, out, _ = console(*arguments, *limit)
        assert status == 0
        printed = json.loads(out[len("Metrics: ") :])
        assert 0 <= printed["f1_mult"] <= 1
        path = tmp_path / "new" / "metrics.json"
        status, out, _ = console(*arguments, *limit, "--output-file", path)
        assert json.loads(out[len("Metrics: ") :]) == printed == json.loads(path.read_text())

    def test_find_lr_takes_the_configs_of_this_package(self, console, tmp_path):
        pytest.importorskip("matplotlib")
        options = ("-s", tmp_path / "run", "--num-batches", 12)
        status, _, err = console("find-lr", "training_configs/pos_bilstm.jsonnet", *options)
        assert status == 0, err
        assert (tmp_path / "run" / "lr-losses.png").is_file()

    def test_serve_has_the_page_of_the_package(self, console, root, archive_path, monkeypatch):
        pytest.importorskip("allennlp_server")
        from allennlp_nef.cli import allennlp_program

        pages = []

        class Server:
            def __init__(self, address, app):
                self._client = app.test_client()

            def serve_forever(self):
                pages.extend(self._client.get(path).data for path in ("/", "/page.js"))

        monkeypatch.setattr(allennlp_program, "_server_class", lambda: Server)
        arguments = ("serve", "--archive-path", archive_path, "--port", 0)
        status, out, err = console(*arguments)
        assert (status, out.count("\n"), err) == (0, 1, "")
        demo = root / "allennlp_nef" / "demo"
        assert pages == [(demo / name).read_bytes() for name in ("index.html", "page.js")]

    def test_serve_names_a_port_that_is_in_use(self, console):
        pytest.importorskip("allennlp_server")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            status, out, err = console("serve", "--archive-path", "none", "--port", port)
        message = f"error: --port: expected a port of 127.0.0.1 that is free, got {port} (Address already in use)"
        assert (status, out, err) == (2, "", f"{message}\n")

    def test_serve_without_its_package_tells_how_to_install_it(self, console, monkeypatch):
        from allennlp.commands import Subcommand
        from allennlp.common import Registrable

        registry = dict(Registrable._registry[Subcommand])
        registry.pop("serve", None)
        monkeypatch.setitem(Registrable._registry, Subcommand, registry)
        status, out, err = console("serve", "--archive-path", "a", "--predictor", "word_qe")
        assert (status, out) == (2, "")
        assert err.startswith("error: serve: expected the package allennlp-server: pip install ")
