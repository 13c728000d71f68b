"""AllenNLP's commands as `allennlp-nef` runs them: with scores at the end, and `-` for the standard output."""

import argparse
import json
import logging
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from io import TextIOWrapper
from itertools import tee
from pathlib import Path
from typing import Any

import allennlp.commands.predict
import torch
from allennlp.commands import Subcommand
from allennlp.commands.predict import _PredictManager
from allennlp.commands.train import TrainModel
from allennlp.common.checks import check_for_gpu
from allennlp.common.params import parse_overrides
from allennlp.common.util import JsonDict
from allennlp.data import Vocabulary
from allennlp.version import VERSION as ALLENNLP_VERSION

from allennlp_nef.archives import checked_archive, loading_safely
from allennlp_nef.cli.shared import (
    ARCHIVE_HELP,
    PREDICTOR_OPTIONS,
    add_threshold,
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
from allennlp_nef.data.files import read_lines
from allennlp_nef.errors import UserError, raised_in, require_extra
from allennlp_nef.predictors.base import NefPredictor
from allennlp_nef.qe.layouts import OK
from allennlp_nef.version import VERSION

logger = logging.getLogger(__name__)

Run = Callable[[argparse.Namespace], Any]
"""The function of a command of AllenNLP."""


@cache
def extend(name: str) -> None:
    """Registers the command in place of AllenNLP's command of that name."""
    base: Any = Subcommand.by_name(name)
    function = FUNCTIONS[name]

    @Subcommand.register(name, exist_ok=True)
    class Command(base):
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            subparser: argparse.ArgumentParser = super().add_subparser(parser)
            run = subparser.get_default("func")
            subparser.set_defaults(func=lambda args: function(args, run))
            if name in DESCRIPTIONS:
                subparser.description = DESCRIPTIONS[name]
                subparser.formatter_class = argparse.RawDescriptionHelpFormatter
            for action in subparser._actions:
                if action.dest in ARGUMENTS:
                    action.metavar, action.help = ARGUMENTS[action.dest]
            if name in ARCHIVES:
                add_trust(subparser)
                subparser.set_defaults(func=lambda args: _with_archive(name, args, run))
            if name == "predict":
                subparser.set_defaults(batch_size=None)  # that of the predictor
                subparser._option_string_actions["--batch-size"].type = positive
                add_threshold(subparser)
            return subparser


def _with_archive(name: str, args: argparse.Namespace, run: Run) -> None:
    """Runs a command with the folder of a checked archive in place of the archive."""
    check_for_gpu(args.cuda_device)
    with checked_archive(args.archive_file, trust=args.trust) as args.archive_file:
        FUNCTIONS[name](args, run)


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
        with loading_safely():  # a config may start from another model
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
    with require_extra("plot", "find-lr"):
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
    """AllenNLP's manager, but it reads and writes UTF-8 and does not reopen standard output.

    The predictors of this package get all requests as one stream, each with its file and line.
    """

    def __init__(self, predictor: Any, input_file: str, output_file: str | None, *args: Any):
        super().__init__(predictor, input_file, None, *args)
        if output_file is not None:
            self._output_file = open_output(output_file, "w")  # type: ignore[assignment]

    def _get_json_data(self) -> Iterator[JsonDict]:
        for _, line in self._lines():
            yield self._predictor.load_line(line)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Each line that is not blank, and its place."""
        is_stdin = self._input_file == "-"
        name = "<stdin>" if is_stdin else self._input_file
        for number, line in enumerate(sys.stdin, 1) if is_stdin else read_lines(name):
            if line.strip():
                yield f"{name}:{number}", line

    def _requests(self) -> Iterator[tuple[str, Any]]:
        """Yields instances or requests, each with its place. A line that is not a request yields its error instead."""
        if self._dataset_reader is not None:
            yield from (("", instance) for instance in self._get_instance_data())
            return
        for place, line in self._lines():
            try:
                yield place, self._predictor.load_line(line)
            except UserError as error:
                yield place, error

    def run(self) -> None:
        predictor: Any = self._predictor
        if not isinstance(predictor, NefPredictor):
            self._batch_size = self._batch_size or 64
            super().run()
            return
        predictor.batch_size = self._batch_size or predictor.batch_size
        requests, shown = tee(self._requests())
        is_uncalibrated = (
            getattr(predictor._model, "threshold", 0.0) is None
            and predictor.options.get("threshold") is None
        )
        has_errors = False
        for index, answer in enumerate(predictor.stream(requests)):
            _, request = next(shown)
            has_errors = has_errors or not {OK}.issuperset(answer.get("tags", ()))
            text = (
                json.dumps(request, ensure_ascii=False) if type(request) is dict else str(request)
            )
            self._maybe_print_to_console_and_file(index, predictor.dump_line(answer), text)
        if self._output_file is not None:
            self._output_file.close()
        if is_uncalibrated and not has_errors:
            logger.warning(
                "All words are tagged OK. `allennlp-nef calibrate` finds a threshold for this model."
            )


def predict(args: argparse.Namespace, run: Run) -> None:
    """Predicts. Answers on standard output are all that is printed there; a file is replaced when it is complete."""
    allennlp.commands.predict._PredictManager = PredictManager  # type: ignore[assignment, misc]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    options = json_object("--predictor-args", args.predictor_args.strip() or None)
    if args.threshold is not None:
        options["threshold"] = args.threshold
    args.predictor_args = json.dumps(options)
    check_outputs([args.output_file], [args.input_file])
    with ExitStack() as stack:
        if args.output_file and is_stdout(args.output_file):
            args.silent = True
        elif args.output_file:
            args.output_file = str(stack.enter_context(writing(Path(args.output_file))))
        run(args)


FUNCTIONS: dict[str, Callable[[argparse.Namespace, Run], None]] = {
    "train": train,
    "evaluate": evaluate,
    "predict": predict,
    "find-lr": find_lr,
    "test-install": check_install,
}
DESCRIPTIONS = {
    "train": """Train the model of a config, and save it as model.tar.gz in a folder.

    allennlp-nef examples try-nef && cd try-nef
    %(prog)s training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f
    %(prog)s training_configs/qe_nef_f.jsonnet -s runs/short -o '{"trainer.num_epochs": 2}'
""",
    "evaluate": """Score a model on labeled data.

INPUT is a data path of the model's dataset reader, or several paths joined by commas, with as many output files.

    %(prog)s qe-multilingual fixtures/qe/test
    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output-file scores.json
""",
    "predict": """Answer the requests in a file, with one JSON object per line.

INPUT has a request on each line, such as {"sentence": "Selby met Sheldon."} for a tagger, or is "-" for standard input.
With --use-dataset-reader, it is a data path of the model's dataset reader.

    %(prog)s qe-multilingual requests.jsonl --output-file answers.jsonl
    echo '{"source": "the house is small", "target": "das Haus ist klein"}' | %(prog)s qe-multilingual -

--predictor-args is a JSON object of any of these options:

    output_format    "json" (default) or "text" (word/TAG); for taggers "conll" or "conllu", as their data; for quality
                     estimation "tags", "tsv", "wmt20", "wmt20_gaps", "wmt22", "wmt23-spans", "wmt25-spans" or
                     "wmt-sentences"
    input_format     "json" (default), or "text": a sentence on each line
    on_error         "stop" (default), or "skip": the answer is {"error": ...}
"""
    + PREDICTOR_OPTIONS,
}
ARGUMENTS = {
    "archive_file": ("ARCHIVE", ARCHIVE_HELP),
    "cuda_device": ("I", "GPU number, or -1 for the CPU (default = -1)"),
    "file_friendly_logging": (None, "print the progress on separate lines, and less often"),
    "input_file": ("INPUT", "file or data path, see above"),
    "output_file": ("FILE", "file to write, or - for standard output"),
    "overrides": ("JSON", """changes to the config, such as '{"model.dropout": 0.2}'"""),
    "param_path": ("CONFIG", "training config (.jsonnet)"),
    "predictor": ("NAME", "predictor (default = the model's own)"),
    "predictor_args": ("JSON", "options of the predictor, see above"),
    "serialization_dir": ("FOLDER", "folder for the model and its logs"),
}
"""The metavars and help texts of AllenNLP's arguments."""
ARCHIVES = ("evaluate", "predict")
"""The commands that load an archive."""
LEFT_OUT = ("checklist", "push-to-hf")
"""Commands of AllenNLP that do not run with current versions of the packages that they need."""
