"""AllenNLP's commands in `allennlp-nef`: checks before they run, archives, processes, predictions."""

import argparse
import json
import logging
import math
import multiprocessing
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from inspect import signature
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from allennlp_nef.cli.shared import add_trust, check_outputs, json_object, print_lines, read_metrics
from allennlp_nef.cli.terminal import Parser, add_include_package
from allennlp_nef.compat import WITHOUT_REQUIREMENTS, require_allennlp
from allennlp_nef.data.formats.text_files import undecodable
from allennlp_nef.errors import DataFormatError, UserError, quote, summary_of, unknown_option
from allennlp_nef.packages import import_packages
from allennlp_nef.resources import archive_path, folders

logger = logging.getLogger(__name__)

SERVER = f"pip install flask flask-cors gevent && pip install --no-deps {WITHOUT_REQUIREMENTS[1]}"
INCLUDE = "--include-package"
LOADING = ("checklist", "diff", "evaluate", "find-lr", "predict", "serve", "train")
"""AllenNLP's commands that load archives, or may do so where the config says it."""
FROM_ARCHIVES = ("diff", "evaluate")
"""Those that build all from an archive, also after they have loaded its model, or load weights alone."""
BATCH_SIZE = 64
"""That of `predict`, where none is given."""
_BATCH_SIZE_HELP = (
    "The sentences that are read before their answers are written, and that go through the model together, fewer "
    "where they are long; 1 answers each line at once. The answers are the same, to rounding. (default = "
    f"{BATCH_SIZE}; 1 for the predictors of other packages)"
)
TERMINATED = 143
"""The status of a process that got SIGTERM, wrote a checkpoint, and reported it."""
_OBJECTS = ("predictor_args", "embedding_sources_mapping", "task_suite_args", "print_summary_args")
_COMPRESSED = (".gz", ".bz2")


def register_components(packages: Sequence[str] = ()) -> None:
    """Registers the components of this package, of AllenNLP's plugins and of further packages."""
    _import_allennlp()
    from allennlp.common.plugins import import_plugins

    import_plugins()
    import_packages(packages, INCLUDE)


def _import_allennlp() -> None:
    """Registers the components and the commands of this package."""
    try:
        require_allennlp()
    except ImportError as error:
        raise UserError(str(error)) from error
    from allennlp_nef import components  # noqa: F401
    from allennlp_nef.cli import subcommands  # noqa: F401


def run_allennlp(program: str, arguments: Sequence[str]) -> None:
    """Runs a command of AllenNLP or of one of its plugins, as `allennlp.commands.main` does.

    # Raises

    `UserError`: no such command, wrong arguments; and whatever the command raises.
    """
    _import_allennlp()
    from allennlp.commands import Subcommand
    from allennlp.common.plugins import import_plugins
    from allennlp.common.util import install_sigterm_handler

    install_sigterm_handler()
    name = arguments[0]
    if name == "serve" and arguments[1:2] and not arguments[1].startswith("-"):
        arguments = [name, "--archive-path", *arguments[1:]]
    has_plugins = name not in Subcommand.list_available()
    if has_plugins:
        import_plugins()
    if name not in Subcommand.list_available():
        if name == "serve":
            raise UserError(f"serve: expected the package allennlp-server: {SERVER}")
        commands = ", ".join(sorted(Subcommand.list_available()))
        raise UserError(f"expected one of the commands {commands}, got {name!r}")
    parser = Parser(prog=program)
    subcommand: Any = Subcommand.by_name(name)
    subparser = subcommand().add_subparser(parser.add_subparsers())
    if subcommand.requires_plugins:
        add_include_package(subparser)
    if name in LOADING:
        add_trust(subparser)
    if name == "predict":
        (option,) = (action for action in subparser._actions if action.dest == "batch_size")
        option.default, option.help = None, _BATCH_SIZE_HELP
    args, others = parser.parse_known_args(arguments)
    if others:
        subparser.error(f"unrecognized arguments: {' '.join(others)}")
    check_arguments(args)
    if subcommand.requires_plugins and not has_plugins:
        import_plugins()
    import_packages(getattr(args, "include_package", []), INCLUDE)
    if name == "serve" and not (args.static_dir or args.field_names):
        args.static_dir = str(folders()["demo"])
    with ExitStack() as stack:
        if "param_path" in args:
            args.param_path, args.overrides = _evaluated(stack, args, name), ""
        if name in LOADING:
            stack.enter_context(naming_archives())
            if not args.trust:
                load_safely(stack, name in FROM_ARCHIVES)
        if name == "serve":
            stack.enter_context(_stopped_by_signals())
        if name == "predict":
            _predict_in_batches(stack, args)
        stack.enter_context(ending_together())
        if name == "train":
            stack.enter_context(_leaving_no_untrained_run(Path(args.serialization_dir)))
        result = args.func(args)
    if name == "evaluate" and not args.output_file:
        # AllenNLP shows the metrics only where it writes them to a file.
        print_lines([f"Metrics: {json.dumps(result, indent=2)}"])


def check_arguments(args: argparse.Namespace) -> None:
    """Raises a `UserError` for what AllenNLP's commands would drop, ignore or end badly with."""
    given = vars(args)
    batch_size = given.get("batch_size")
    if batch_size is not None and batch_size < 1:
        raise UserError(f"--batch-size: expected an integer of at least 1, got {batch_size}")
    if {"force", "serialization_dir"} <= given.keys() and not (args.force or given.get("recover")):
        run = args.serialization_dir
        if os.path.isdir(run) and os.listdir(run):
            goes_on = ", --recover goes on with its training" if "recover" in given else ""
            raise UserError(
                f"{run}: expected a new or empty folder, got one with files; -f replaces it{goes_on}"
            )
    if not given.get("input_file", "a path").strip():  # evaluate would evaluate nothing
        raise UserError(f"input_file: expected a path, got {args.input_file!r}")
    for name in _OBJECTS:
        if (given.get(name) or "").strip():
            json_object(f"--{name.replace('_', '-')}", given[name])
    if given.get("overrides"):
        from allennlp_nef.cli.configs import overrides_of

        overrides_of(args.overrides)
    weights = given.get("weights_file")
    if weights and not os.path.isfile(weights):
        raise UserError(f"--weights-file: expected a file, got {quote(weights)}")
    if isinstance(given.get("cuda_device"), int):
        from allennlp_nef.predictors.archives import check_device

        check_device(given["cuda_device"])
    folder = given.get("static_dir")
    if folder is not None and not os.path.isdir(folder):
        raise UserError(f"--static-dir: expected a folder, got {quote(folder)}")
    if "port" in given:
        _check_port(args.host, args.port)
    for name in ("start_lr", "end_lr"):
        if not 0 < given.get(name, 1) < math.inf:
            raise UserError(
                f"--{name.replace('_', '-')}: expected a number above 0, got {given[name]}"
            )
    if "start_lr" in given and args.start_lr >= args.end_lr:
        raise UserError(
            f"--end-lr: expected a number above --start-lr, {args.start_lr}, got {args.end_lr}"
        )
    if "metrics_filename" in given:  # of print-results
        if not args.keys:
            raise UserError("--keys: expected the names of metrics, got none")
        if not os.path.isdir(args.path):
            raise UserError(f"{args.path}: expected a folder, got no such one")
        _check_keys(args.keys, Path(args.path), args.metrics_filename)
    if "use_dataset_reader" in given and args.output_file:  # of predict
        # A device, such as /dev/stdout, may be both.
        for path in (args.archive_file, args.input_file):
            if os.path.isfile(path) and os.path.realpath(path) == os.path.realpath(
                args.output_file
            ):
                raise UserError(f"--output-file: expected a file of its own, got {path!r} again")
    if "auto_names" in given:  # of evaluate
        _check_outputs(args)
    if "output_path" in given:  # of build-vocab
        path = args.output_path
        if not path.endswith(".tar.gz"):
            raise UserError(
                f"output_path: expected a name that ends with .tar.gz, got {quote(path)}"
            )
        if os.path.exists(path) and not args.force:
            raise UserError(f"{path}: expected no such file, got one: --force writes over it")


def _check_port(host: str, port: int) -> None:
    if not host:  # it would stand for all addresses
        raise UserError("--host: expected an address of this computer, got ''")
    if not 0 <= port < 2**16:
        raise UserError(f"--port: expected a number from 0 to 65535, got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except socket.gaierror as error:
        raise UserError(
            f"--host: expected an address of this computer, got {quote(host)} ({error.strerror})"
        ) from error
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise UserError(
            f"--port: expected a port of {host} that is free, got {port} ({reason})"
        ) from error


def _check_keys(keys: list[str], folder: Path, name: str) -> None:
    """Warns of metrics that no run has."""
    paths = [path for path in folder.rglob("*") if path.name == name]
    if not paths:
        logger.warning("%s: expected files %s in its folders, got none", folder, name)
    known = {key for path in paths for key in read_metrics(path)}
    for key in keys:
        if paths and key not in known:
            logger.warning(unknown_option("--keys", key, known, "metrics"))


def _check_outputs(args: argparse.Namespace) -> None:
    """Checks that `evaluate` has as many output files as input files, and makes their folders."""
    inputs: list[Any]
    try:
        inputs = json.loads(f"[{args.input_file}]")
    except ValueError:
        inputs = args.input_file.split(",")
    taken = [Path(name) for name in (args.archive_file, *inputs) if isinstance(name, str)]
    for option, text, names in (
        ("--output-file", args.output_file, ("METRICS", "ALL")),
        ("--predictions-output-file", args.predictions_output_file, ("PREDS", "ALL")),
    ):
        if not text:
            continue
        if args.auto_names in names:
            if not all(isinstance(name, str) for name in inputs):
                raise UserError(
                    f"--auto-names: expected NONE for input that is JSON, got {args.auto_names}"
                )
        elif len(text.split(",")) != len(inputs):
            raise UserError(
                f"{option}: expected {len(inputs)} files, one for each input, separated by commas, got {quote(text)}"
            )
        else:
            for path in text.split(","):
                check_outputs({option.removeprefix("--"): path}, taken)
                Path(path).parent.mkdir(parents=True, exist_ok=True)


def _replace(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    """Gives an attribute of an object another value, until the stack is closed."""
    stack.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)


class _OverridesError(Exception):
    """Overrides change what the config of an archive does not have."""


@contextmanager
def naming_archives() -> Iterator[None]:
    """A context in which AllenNLP's commands raise a `UserError` for archives, overrides and predictor arguments.

    They name an archive that cannot be loaded, and an option that the predictor does not have before it is built.
    """
    from allennlp.common import params
    from allennlp.models import archival
    from allennlp.predictors import Predictor

    from allennlp_nef.predictors.archives import naming_archive

    load_archive, with_overrides = archival.load_archive, params.with_overrides
    from_archive = vars(Predictor)["from_archive"]

    def load(
        archive_file: Any, cuda_device: int = -1, overrides: Any = "", weights_file: Any = None
    ) -> Any:
        try:
            file = archive_path(str(archive_file))
            with naming_archive(str(archive_file), overrides, weights_file):
                return load_archive(file, cuda_device, overrides, weights_file)
        except _OverridesError as error:
            raise UserError(f"--overrides: {error}") from error

    def override(original: Any, overrides: Any, prefix: str = "") -> Any:
        try:
            return with_overrides(original, overrides, prefix)
        except ValueError as error:
            raise _OverridesError(str(error)) from error

    def make(cls: Any, archive: Any, predictor_name: str | None = None, **options: Any) -> Any:
        name = predictor_name or archive.model.default_predictor
        if name is not None:
            known = Predictor.list_available()
            if name not in known and "." not in name:
                raise UserError(unknown_option("--predictor", name, known, "predictors"))
            _check_predictor(name, archive.model, options.get("extra_args") or {})
        return from_archive.__func__(cls, archive, predictor_name, **options)

    with ExitStack() as stack:
        _replace(stack, params, "with_overrides", override)
        _replace(stack, Predictor, "from_archive", classmethod(make))
        # Its own module, and those of AllenNLP that have imported the function.
        for name, module in sys.modules.items():
            if name.startswith("allennlp.") and vars(module).get("load_archive") is load_archive:
                _replace(stack, module, "load_archive", load)
        yield


def _check_predictor(predictor: str, model: Any, options: dict[str, Any]) -> None:
    """Raises a `UserError` for a predictor of AllenNLP's that cannot ask a tagger, or that lacks an option.

    Predictors that take any option are not checked here; those of this package check themselves.
    """
    from allennlp.predictors import Predictor

    from allennlp_nef.models import NefTagger

    kind, constructor = Predictor.resolve_class_name(predictor)
    parameters = signature(getattr(kind, constructor or "__init__")).parameters
    if isinstance(model, NefTagger) and kind.__module__.startswith("allennlp."):
        fitting = "nef_tagger or word_qe" if model.tag_decoder.is_word_qe else "nef_tagger"
        raise UserError(f"--predictor: expected {fitting} for this model, got {quote(predictor)}")
    known = parameters.keys() - {"self", "model", "dataset_reader"}
    if not any(option.kind is option.VAR_KEYWORD for option in parameters.values()):
        for name in sorted(options.keys() - known):
            raise UserError(unknown_option("--predictor-args", name, known))


def load_safely(stack: ExitStack, all_is_archived: bool = False) -> None:
    """Lets no archive run code, until the stack is closed.

    `all_is_archived` says that all that is built meanwhile comes from archives, nothing from a config of the user's.
    """
    from allennlp_nef.predictors.archives import only_registered, safe_archives

    stack.enter_context(safe_archives())
    if all_is_archived:
        stack.enter_context(only_registered())


@contextmanager
def ending_together() -> Iterator[None]:
    """A context in which SIGTERM also ends the processes that this one has started.

    # Raises

    `SystemExit`, with the status `TERMINATED`, where one of them ended with it.
    """
    from allennlp.common.util import SigTermReceived
    from torch.multiprocessing import ProcessExitedException

    try:
        yield
    except SigTermReceived:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come again
        processes = multiprocessing.active_children()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        if TERMINATED in [process.exitcode for process in processes]:
            sys.exit(TERMINATED)
        raise
    except ProcessExitedException as error:
        if error.exit_code == TERMINATED:
            sys.exit(TERMINATED)
        raise


def _predict_in_batches(stack: ExitStack, args: argparse.Namespace) -> None:
    """Lets `predict` read its input before it opens its output, and write each answer at once.

    So the answers of a batch need not fit into memory together. Predictors of other packages may answer a list in
    another way than its requests: where no batch size is given, they get one request at a time. Where there is no
    sentence, a `DataFormatError` is raised, and the output stays as it was.
    """
    from allennlp.commands import predict

    from allennlp_nef.predictors.base import CheckedPredictor

    base: Any = predict._PredictManager
    is_given = args.batch_size is not None
    args.batch_size = args.batch_size if is_given else BATCH_SIZE

    class Manager(base):
        def __init__(
            self, predictor: Any, input_file: str, output_file: str | None, *arguments: Any
        ) -> None:
            super().__init__(predictor, input_file, None, *arguments)
            self._output_path = output_file
            self._name = "standard input" if input_file == "-" else input_file

        def _get_json_data(self) -> Iterator[Any]:
            try:
                yield from self._opening_output(super()._get_json_data())
            except UnicodeDecodeError as error:
                if os.path.isfile(self._input_file) and not self._input_file.endswith(_COMPRESSED):
                    raise undecodable(self._input_file, "utf-8") from error  # it says in which line
                raise DataFormatError(
                    f"{self._name}: expected UTF-8, got byte 0x{error.object[error.start]:02x}"
                ) from error

        def _get_instance_data(self) -> Iterator[Any]:
            yield from self._opening_output(super()._get_instance_data())

        def _opening_output(self, sentences: Iterator[Any]) -> Iterator[Any]:
            """The sentences. Opens the output after the first one."""
            first = next(sentences, None)
            if first is None:
                raise DataFormatError(f"{self._name}: expected at least one sentence, got none")
            if self._output_path is not None:
                Path(self._output_path).parent.mkdir(parents=True, exist_ok=True)
                self._output_file = open(self._output_path, "w", encoding="utf-8")  # noqa: SIM115  # `run` closes it
            yield from chain([first], sentences)

        def _predict_json(self, batch: list[Any]) -> Iterator[str]:
            return self._answers(batch, super()._predict_json)

        def _predict_instances(self, batch: list[Any]) -> Iterator[str]:
            return self._answers(batch, super()._predict_instances)

        def _answers(
            self, batch: list[Any], of_allennlp: Callable[[list[Any]], Iterator[str]]
        ) -> Iterator[str]:
            if isinstance(self._predictor, CheckedPredictor):
                yield from map(self._predictor.dump_line, self._predictor.iterate_answers(batch))
                return
            for part in [batch] if is_given else [[sentence] for sentence in batch]:
                yield from of_allennlp(part)

    _replace(stack, predict, "_PredictManager", Manager)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """A context in which SIGTERM and Ctrl-C stop AllenNLP's server, also before it listens, and are no errors."""
    from allennlp.common.util import SigTermReceived
    from allennlp_server.commands import server_simple

    with ExitStack() as stack, suppress(KeyboardInterrupt, SigTermReceived):
        _replace(stack, server_simple, "WSGIServer", _server_class())
        yield


def _server_class() -> type:
    import gevent  # type: ignore[import-untyped]
    from gevent.pool import Pool  # type: ignore[import-untyped]
    from gevent.pywsgi import WSGIServer  # type: ignore[import-untyped]

    class Server(WSGIServer):  # type: ignore[misc,unused-ignore]
        """Answers the requests in flight before it ends."""

        def __init__(self, address: tuple[str, int], app: Callable[..., Any]) -> None:
            super().__init__(address, app, spawn=Pool())
            self.is_listening = self.is_ending = False

        def start(self) -> None:
            # First: gevent would print an exception that a handler raises while the address is looked up.
            for number in (signal.SIGINT, signal.SIGTERM):
                gevent.signal_handler(number, self.end)
            super().start()
            self.is_listening = True
            if self.is_ending:
                self.stop()

        def end(self) -> None:
            self.is_ending = True
            if self.is_listening:
                self.stop()

    return Server


@contextmanager
def _leaving_no_untrained_run(folder: Path) -> Iterator[None]:
    """A context that removes what a failed training leaves in a folder that was new or empty, if nothing was trained.

    So the corrected command is that of a new run. A training that SIGTERM ends is to go on with `--recover`.
    """
    from allennlp.common.util import SigTermReceived

    is_new = not folder.exists()
    is_empty = is_new or folder.is_dir() and not any(folder.iterdir())
    try:
        yield
    except (SigTermReceived, SystemExit):
        raise
    except BaseException:
        files = list(folder.iterdir()) if is_empty and folder.is_dir() else []
        # A run that has trained has weights, a checkpoint, or the scores of an epoch.
        if not any(path.suffix == ".th" or path.match("metrics_epoch_*") for path in files):
            for path in files:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if is_new and folder.is_dir():
                folder.rmdir()
        raise


def _evaluated(stack: ExitStack, args: argparse.Namespace, command: str) -> str:
    """The path of the evaluated config of a command, with its overrides. It is removed when the stack is closed."""
    from allennlp_nef.cli.configs import config_of

    config = config_of(args.param_path, args.overrides)
    trainer, distributed = config.get("trainer"), config.get("distributed") or {}
    if command == "find-lr":
        if not isinstance(trainer, dict):
            raise UserError(f"{args.param_path}: trainer: expected an object, got {quote(trainer)}")
        if distributed:
            raise UserError(f"{args.param_path}: distributed: expected no such key for find-lr")
        if trainer.get("type") == "nef":
            trainer["type"] = "gradient_descent"  # it takes no other trainer
    if command in ("find-lr", "train"):
        place, number = "distributed.cuda_devices", distributed.get("cuda_devices")
        if not distributed and isinstance(trainer, dict):
            place, number = "trainer.cuda_device", trainer.get("cuda_device")
        _check_device(f"{args.param_path}: {place}", number)
    path = os.path.join(stack.enter_context(TemporaryDirectory()), "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def _check_device(place: str, value: Any) -> None:
    from allennlp.common.checks import ConfigurationError, check_for_gpu

    try:
        check_for_gpu(value)
    except (ConfigurationError, RuntimeError, TypeError) as error:  # torch raises the second
        raise UserError(
            f"{place}: expected -1 or the number of a GPU, got {quote(value)} ({summary_of(error)})"
        ) from error
