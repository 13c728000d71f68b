"""AllenNLP's own program with the components of this package."""

import argparse
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from allennlp_nef.commands.arguments import add_trust
from allennlp_nef.commands.printing import print_lines
from allennlp_nef.compat import WITHOUT_REQUIREMENTS, require_allennlp
from allennlp_nef.console.checks import check_arguments
from allennlp_nef.console.parser import Parser, add_include_package
from allennlp_nef.console.processes import ending_together
from allennlp_nef.errors import UserError, quote, summary_of
from allennlp_nef.packages import import_packages
from allennlp_nef.resources import folders

SERVER = f"pip install flask flask-cors gevent && pip install --no-deps {WITHOUT_REQUIREMENTS[1]}"
INCLUDE = "--include-package"
LOADING = ("checklist", "diff", "evaluate", "find-lr", "predict", "serve", "train")
"""AllenNLP's commands that load archives, or may do so where the config says it."""
FROM_ARCHIVES = ("diff", "evaluate")
"""Those that build all from an archive, also after they have loaded its model, or load weights alone."""
BATCH_SIZE = 64
"""That of `predict`, where none is given."""


def register_components(packages: Sequence[str] = ()) -> None:
    """Registers the components of this package, of AllenNLP's plugins and of further packages."""
    _import_allennlp()
    from allennlp.common.plugins import import_plugins

    import_plugins()
    import_packages(packages, INCLUDE)


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
        _document_batch_size(subparser)
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
            from allennlp_nef.console.archives import naming_archives

            stack.enter_context(naming_archives())
            if not args.trust:
                load_safely(stack, name in FROM_ARCHIVES)
        if name == "serve":
            from allennlp_nef.console._server import ending_quietly

            stack.enter_context(ending_quietly())
        if name == "predict":
            from allennlp_nef.console.predictions import checked_files

            stack.enter_context(checked_files())
        stack.enter_context(ending_together())
        if name == "predict":
            stack.enter_context(_answering_in_batches(args))
        if name == "train":
            stack.enter_context(_leaving_no_untrained_run(Path(args.serialization_dir)))
        result = args.func(args)
    if name == "evaluate" and not args.output_file:
        # AllenNLP shows the metrics only where it writes them to a file.
        print_lines([f"Metrics: {json.dumps(result, indent=2)}"])


def load_safely(stack: ExitStack, all_is_archived: bool = False) -> None:
    """Lets no archive run code, until the stack is closed.

    # Parameters

    stack : `ExitStack`
    all_is_archived : `bool`, optional (default = `False`)
        Whether all that is built meanwhile comes from archives, nothing from a config of the user's.
    """
    from allennlp_nef.predictors.safe_archives import only_registered, safe_archives

    stack.enter_context(safe_archives())
    if all_is_archived:
        stack.enter_context(only_registered())


def _document_batch_size(parser: argparse.ArgumentParser) -> None:
    (option,) = (action for action in parser._actions if action.dest == "batch_size")
    option.default = None
    option.help = (
        "The sentences that are read before their answers are written, and that go through the model together, fewer "
        "where they are long; 1 answers each line at once. The answers are the same, to rounding. (default = "
        f"{BATCH_SIZE}; 1 for the predictors of other packages)"
    )


@contextmanager
def _answering_in_batches(args: argparse.Namespace) -> Iterator[None]:
    """Lets `predict` write the answers of a batch one after the other, so that they need not fit into memory together.

    Predictors of other packages may answer a list in another way than its requests. So they get one at a time, where no
    batch size is given.
    """
    from allennlp.commands import predict

    from allennlp_nef.predictors.checked_predictor import CheckedPredictor

    is_given = args.batch_size is not None
    args.batch_size = args.batch_size if is_given else BATCH_SIZE

    def answering(of_allennlp: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        def answers(self: Any, batch: list[Any]) -> Iterator[str]:
            if isinstance(self._predictor, CheckedPredictor):
                yield from map(self._predictor.dump_line, self._predictor.iterate_answers(batch))
                return
            for part in [batch] if is_given else [[sentence] for sentence in batch]:
                yield from of_allennlp(self, part)

        return answers

    manager: Any = predict._PredictManager
    methods = {name: getattr(manager, name) for name in ("_predict_json", "_predict_instances")}
    for name, method in methods.items():
        setattr(manager, name, answering(method))
    try:
        yield
    finally:
        for name, method in methods.items():
            setattr(manager, name, method)


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
        if is_empty and folder.is_dir() and not _has_trained(folder):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if is_new:
                folder.rmdir()
        raise


def _has_trained(folder: Path) -> bool:
    """Whether a run has weights, a checkpoint, or the scores of an epoch."""
    return any(path.suffix == ".th" or path.match("metrics_epoch_*") for path in folder.iterdir())


def _evaluated(stack: ExitStack, args: argparse.Namespace, command: str) -> str:
    """The path of the evaluated config of a command, with its overrides. It is removed when the stack is closed."""
    from allennlp_nef.commands.configs import config_of

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


def _import_allennlp() -> None:
    try:
        require_allennlp()
    except ImportError as error:
        raise UserError(str(error)) from error
    from allennlp_nef import components  # noqa: F401
