"""AllenNLP's commands as `allennlp-nef` runs them: with scores at the end, and `-` for the standard output."""

import argparse
import json
import logging
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import allennlp.commands.predict
import torch
from allennlp.commands import Subcommand
from allennlp.commands.predict import _PredictManager
from allennlp.commands.train import TrainModel
from allennlp.common.checks import check_for_gpu
from allennlp.common.params import parse_overrides
from allennlp.common.util import JsonDict
from allennlp.data import Vocabulary
from allennlp.models import archival
from allennlp.version import VERSION as ALLENNLP_VERSION
from overrides import overrides

from allennlp_nef.cli.shared import (
    add_trust,
    check_outputs,
    is_stdout,
    json_object,
    open_output,
    positive,
    print_lines,
    read_config,
    writing,
)
from allennlp_nef.data.text_files import read_lines
from allennlp_nef.errors import UserError, needing, raised_in
from allennlp_nef.predictors.archives import checked_archive, load_archive_safely
from allennlp_nef.predictors.base import Line
from allennlp_nef.resources import folders
from allennlp_nef.version import VERSION

logger = logging.getLogger(__name__)

Run = Callable[[argparse.Namespace], Any]
"""The function of a command of AllenNLP."""


@cache
def extend(name: str) -> None:
    """Registers the command in place of AllenNLP's command of that name."""
    if name == "serve":
        with needing("serve", "serve"):
            import allennlp_server.commands.server_simple  # noqa: F401
    base: Any = Subcommand.by_name(name)
    function = COMMANDS[name]

    @Subcommand.register(name, exist_ok=True)
    class Command(base):
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            subparser: argparse.ArgumentParser = super().add_subparser(parser)
            run = subparser.get_default("func")
            subparser.set_defaults(func=lambda args: function(args, run))
            if name in ARCHIVES:
                add_trust(subparser)
                subparser.set_defaults(func=lambda args: _with_archive(name, args, run))
            if name == "serve":
                subparser.usage = "%(prog)s ARCHIVE [options]"  # `program.run` adds --archive-path
            if name == "predict":
                # The predictor divides them into batches. An adaptive threshold is one for all of them.
                subparser.set_defaults(batch_size=1000)
                subparser._option_string_actions["--batch-size"].type = positive
            return subparser


def _with_archive(name: str, args: argparse.Namespace, run: Run) -> None:
    """Runs a command with the folder of a checked archive in place of the archive."""
    check_for_gpu(args.cuda_device)
    options = vars(args)
    with checked_archive(options[ARCHIVES[name]], trust=args.trust) as folder:
        options[ARCHIVES[name]] = folder
        COMMANDS[name](args, run)


def train(args: argparse.Namespace, run: Run) -> None:
    """Trains a model, then prints the best epoch and the path of the archive to standard error.

    If the training cannot start, the folder that was made for it is removed.
    """
    config = read_config(args.param_path, args.overrides)
    trainer = config.get("trainer")
    epochs = trainer.get("num_epochs") if isinstance(trainer, dict) else None
    if isinstance(epochs, int) and epochs < 1:  # AllenNLP would have nothing to archive
        raise UserError(f"trainer.num_epochs: expected at least 1, got {epochs}")
    folder = Path(args.serialization_dir)
    is_new = not folder.is_dir() or not any(folder.iterdir())
    if not (is_new or args.recover or args.force):
        raise UserError(f"{folder}: not empty ({_advice(folder)})")
    try:
        # A config may start from another model: `from_archive`, `_pretrained`.
        with patch.object(archival, "load_archive", load_archive_safely):
            run(args)
    except BaseException as error:
        if is_new and not any(folder.glob("*.th")) and not raised_in(error, TrainModel.run):
            shutil.rmtree(folder, ignore_errors=True)
        elif isinstance(error, KeyboardInterrupt):
            raise type(error)(f"{folder} ({_advice(folder)})") from error
        raise
    if args.dry_run:
        vocabulary = Vocabulary.from_files(folder / "vocabulary")
        sizes = {name: vocabulary.get_vocab_size(name) for name in vocabulary.get_namespaces()}
        print(f"vocabulary: {folder / 'vocabulary'}", file=sys.stderr)
        for name, size in sorted(sizes.items()):
            print(f"  {name}: {size}", file=sys.stderr)
        return
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    tracked = config["trainer"].get("validation_metric", "-loss")
    names = [name[1:] for name in ([tracked] if isinstance(tracked, str) else tracked)]
    scores = {name: metrics.get(f"best_validation_{name}") for name in names}
    lines = [f"{name}: {score:.4f}" for name, score in scores.items() if score is not None]
    if lines:
        best = f"best epoch: {metrics['best_epoch']} (of 0 to {metrics.get('epoch')})"
        print(", ".join([best, *lines]), file=sys.stderr)
    print(f"model: {folder / 'model.tar.gz'}", file=sys.stderr)


def _advice(folder: Path) -> str:
    """How to train again in a folder."""
    has_checkpoint = any(folder.glob("training_state_*.th"))
    return "--recover continues the training" if has_checkpoint else "--force starts again"


def find_lr(args: argparse.Namespace, run: Run) -> None:
    """Searches for a learning rate, with AllenNLP's trainer in place of `nef`, which has the same options."""
    with needing("plot", "find-lr"):
        import matplotlib  # noqa: F401
    trainer = read_config(args.param_path, args.overrides).get("trainer")
    if isinstance(trainer, dict) and trainer.get("type") == "nef":
        overrides = {**parse_overrides(args.overrides), "trainer.type": "gradient_descent"}
        args.overrides = json.dumps(overrides)
    run(args)
    print(f"learning rates: {Path(args.serialization_dir, 'lr-losses.png')}", file=sys.stderr)


def check_install(args: argparse.Namespace, run: Run) -> None:
    """Imports the modules of AllenNLP, and prints the versions."""
    run(args)
    versions = {"allennlp_nef": VERSION, "allennlp": ALLENNLP_VERSION, "torch": torch.__version__}
    print_lines(f"{name} {version}" for name, version in versions.items())
    print_lines([f"GPUs: {torch.cuda.device_count()}"])


def evaluate(args: argparse.Namespace, run: Run) -> None:
    """Evaluates a model, and prints the scores unless they are written to a file."""
    with ExitStack() as stack:
        for option in ("output_file", "predictions_output_file"):
            path = vars(args)[option]
            if path is not None and is_stdout(path):
                vars(args)[option] = str(stack.enter_context(writing(Path(path))))
        scores = run(args)
        if not any(name.endswith("loss") for name in scores):
            raise UserError(f"{args.input_file}: expected gold labels to compare with, got none")
    if scores.get("f1_bad") == 0:
        logger.warning("No BAD word is tagged BAD: `allennlp-nef calibrate` finds a threshold.")
    if args.output_file is None:
        print_lines(f"{name}: {score:.4f}" for name, score in scores.items())


class PredictManager(_PredictManager):
    """AllenNLP's manager, but it reads and writes UTF-8, does not reopen standard output, and tells the predictor where
    requests stand and when it has finished."""

    @overrides(check_signature=False)
    def __init__(self, predictor: Any, input_file: str, output_file: str | None, *args: Any):
        super().__init__(predictor, input_file, None, *args)
        if output_file is not None:
            self._output_file = open_output(output_file, "w")  # type: ignore[assignment]

    @overrides
    def _get_json_data(self) -> Iterator[JsonDict]:
        is_stdin = self._input_file == "-"
        name = "<stdin>" if is_stdin else self._input_file
        for number, line in enumerate(sys.stdin, 1) if is_stdin else read_lines(name):
            if line.strip():
                request = self._predictor.load_line(line)
                if isinstance(request, Line):
                    request.place = f"{name}:{number}"
                yield request

    @overrides
    def run(self) -> None:
        super().run()
        if hasattr(self._predictor, "finish"):
            self._predictor.finish()


def predict(args: argparse.Namespace, run: Run) -> None:
    """Predicts. Answers on standard output are all that is printed there; a file is replaced when it is complete."""
    allennlp.commands.predict._PredictManager = PredictManager  # type: ignore[misc]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    json_object("--predictor-args", args.predictor_args.strip() or None)
    check_outputs([args.output_file], [args.input_file])
    with ExitStack() as stack:
        if args.output_file and is_stdout(args.output_file):
            args.silent = True
        elif args.output_file:
            args.output_file = str(stack.enter_context(writing(Path(args.output_file))))
        run(args)


def serve(args: argparse.Namespace, run: Run) -> None:
    """Serves the page of this package by default and returns every error as JSON."""
    from allennlp_server.commands import server_simple
    from werkzeug.exceptions import HTTPException

    try:  # before the model is loaded
        socket.create_server((args.host, args.port)).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"cannot use port {args.port} on {args.host}: {error}") from error
    make_app = server_simple.make_app

    def make(**options: Any) -> Any:
        app = make_app(**options)
        app.register_error_handler(
            HTTPException, lambda error: ({"message": error.description}, error.code)
        )
        return app

    server_simple.make_app = make
    args.static_dir = args.static_dir or str(folders()["demo"])
    run(args)


COMMANDS: dict[str, Callable[[argparse.Namespace, Run], None]] = {
    "train": train,
    "evaluate": evaluate,
    "predict": predict,
    "serve": serve,
    "find-lr": find_lr,
    "test-install": check_install,
}
ARCHIVES = {"evaluate": "archive_file", "predict": "archive_file", "serve": "archive_path"}
"""The commands that load an archive, and the names of its argument."""
LEFT_OUT = ("checklist", "push-to-hf")
"""Commands of AllenNLP that do not run with current versions of the packages that they need."""
