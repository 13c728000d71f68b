"""AllenNLP's commands as `allennlp-nef` runs them: with scores at the end, and `-` for the standard output."""

import argparse
import json
import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import allennlp.commands.predict
from allennlp.commands import Subcommand
from allennlp.commands.predict import _PredictManager
from overrides import overrides

from allennlp_nef.cli.shared import is_stdout, open_output, print_lines, writing
from allennlp_nef.errors import UserError, needing
from allennlp_nef.resources import folders

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
            if name == "serve":
                subparser.usage = "%(prog)s ARCHIVE [options]"  # `program.run` adds --archive-path
            if name == "predict":
                # The predictor divides them into batches. An adaptive threshold is one for all of them.
                subparser.set_defaults(batch_size=1000)
            return subparser


def train(args: argparse.Namespace, run: Run) -> None:
    """Trains a model, then prints the best epoch and the path of the archive to standard error."""
    run(args)
    if args.dry_run:
        return
    folder = Path(args.serialization_dir)
    config, metrics = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("config.json", "metrics.json")
    )
    tracked = config["trainer"].get("validation_metric", "-loss")
    names = [name[1:] for name in ([tracked] if isinstance(tracked, str) else tracked)]
    scores = {name: metrics.get(f"best_validation_{name}") for name in names}
    lines = [f"{name}: {score:.4f}" for name, score in scores.items() if score is not None]
    if lines:
        best = f"best epoch: {metrics['best_epoch']} (of 0 to {metrics['epoch']})"
        print(", ".join([best, *lines]), file=sys.stderr)
    print(f"model: {folder / 'model.tar.gz'}", file=sys.stderr)


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
    """AllenNLP's manager, but it does not reopen standard output, and it tells the predictor when it has finished."""

    @overrides(check_signature=False)
    def __init__(self, predictor: Any, input_file: str, output_file: str | None, *args: Any):
        super().__init__(predictor, input_file, None, *args)
        if output_file is not None:
            self._output_file = open_output(output_file, "w")  # type: ignore[assignment]

    @overrides
    def run(self) -> None:
        super().run()
        if hasattr(self._predictor, "finish"):
            self._predictor.finish()


def predict(args: argparse.Namespace, run: Run) -> None:
    """Predicts. If the answers go to standard output, nothing else is printed there."""
    allennlp.commands.predict._PredictManager = PredictManager  # type: ignore[misc]
    args.silent = args.silent or is_stdout(args.output_file or "")
    run(args)


def serve(args: argparse.Namespace, run: Run) -> None:
    """Serves the page of this package by default and returns every error as JSON."""
    from allennlp_server.commands import server_simple
    from werkzeug.exceptions import HTTPException

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
}
