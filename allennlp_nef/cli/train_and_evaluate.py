"""AllenNLP's `train` and `evaluate` as `allennlp-nef` runs them: safe archives, and scores at the end."""

import argparse
import json
import logging
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from allennlp.commands.evaluate import Evaluate
from allennlp.commands.train import Train, TrainModel
from allennlp.common.checks import check_for_gpu
from allennlp.data import Vocabulary

from allennlp_nef.archives import checked_archive, loading_safely
from allennlp_nef.cli.arguments import add_trust, read_config
from allennlp_nef.cli.outputs import check_outputs, files_of, is_stdout, print_lines, writing
from allennlp_nef.errors import UserError, raised_in
from allennlp_nef.training.trainer import check_recovery, config_of

logger = logging.getLogger(__name__)

Run = Callable[[argparse.Namespace], Any]
"""The function of a command of AllenNLP."""


TRAIN = """Train the model of a config, and save it as model.tar.gz in a folder.

    allennlp-nef examples try-nef && cd try-nef
    %(prog)s training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f
    %(prog)s training_configs/qe_nef_f.jsonnet -s runs/short -o '{"trainer.num_epochs": 2}'
"""
EVALUATE = """Score a model on labeled data.

The archive can be a model archive, a run folder, or a packaged model. The input is a data path of the model's dataset
reader, or several paths joined by commas, with as many output files; - is standard output.

    %(prog)s qe-multilingual fixtures/qe/test
    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output-file scores.json
"""


def add_train_and_evaluate(commands: argparse._SubParsersAction) -> None:
    """Adds the parsers of both commands, whose functions call AllenNLP's."""
    for command, function, description in (
        (Train, train, TRAIN),
        (Evaluate, evaluate, EVALUATE),
    ):
        parser = command().add_subparser(commands)
        run = parser.get_default("func")
        parser.set_defaults(func=partial(function, run=run))
        parser.description = description
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_trust(commands.choices["evaluate"])


def train(args: argparse.Namespace, run: Run) -> None:
    """Trains a model, then prints the best epoch and the path of the archive to standard error.

    If the training cannot start, the folder that was made for it is removed.
    """
    config = read_config(args.param_path, args.overrides)
    trainer = config.get("trainer")
    epochs = trainer.get("num_epochs") if isinstance(trainer, dict) else None
    if isinstance(epochs, int) and epochs < 1:  # AllenNLP would have nothing to archive
        raise UserError(f"trainer.num_epochs: expected at least 1, got {epochs}")
    _check_devices_and_packages(config)
    # The processes of a distributed training import these packages.
    args.include_package = ["allennlp_nef", *args.include_package]
    folder = Path(args.serialization_dir)
    is_new = not folder.is_dir() or not any(folder.iterdir())
    if not (is_new or args.recover or args.force):
        raise UserError(f"{folder}: not empty ({_advice(folder)})")
    if args.recover and (saved := config_of(folder)):
        check_recovery(saved, config)
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


def _check_devices_and_packages(config: dict[str, Any]) -> None:
    """Checks what AllenNLP would miss after it has read the data: GPUs, and the packages of callbacks."""
    trainer, distributed = (config.get(name) for name in ("trainer", "distributed"))
    trainer = trainer if isinstance(trainer, dict) else {}
    distributed = distributed if isinstance(distributed, dict) else {}
    devices = {
        "trainer.cuda_device": [trainer.get("cuda_device")],
        "distributed.cuda_devices": distributed.get("cuda_devices"),
    }
    for name, numbers in devices.items():
        for number in numbers if isinstance(numbers, list) else ():
            if isinstance(number, int) and number >= torch.cuda.device_count():
                found = f"there are {torch.cuda.device_count()}"
                raise UserError(
                    f"{name}: expected a GPU ({found}), or -1 for the CPU, got {number}"
                )
    callbacks = trainer.get("callbacks")
    for callback in callbacks if isinstance(callbacks, list) else ():
        kind = callback.get("type") if isinstance(callback, dict) else callback
        package = {"wandb": "wandb", "tensorboard": "tensorboardX"}.get(str(kind))
        if package and find_spec(package) is None:
            raise UserError(
                f"trainer.callbacks: {kind} needs the package {package} (pip install {package})"
            )


def _advice(folder: Path) -> str:
    """How to train again in a folder."""
    has_checkpoint = any(folder.glob("training_state_*.th"))
    return "--recover continues the training" if has_checkpoint else "--force starts again"


def evaluate(args: argparse.Namespace, run: Run) -> None:
    """Evaluates a model, and prints the scores unless they are written to a file."""
    check_for_gpu(args.cuda_device)
    options = ("output_file", "predictions_output_file")
    check_outputs(
        (path for option in options for path in (vars(args)[option] or "").split(",")),
        [args.archive_file, *(f for path in args.input_file.split(",") for f in files_of(path))],
    )
    with ExitStack() as stack:
        for option in options:
            path = vars(args)[option]
            if path is not None and is_stdout(path):
                vars(args)[option] = str(stack.enter_context(writing(Path(path))))
        args.archive_file = stack.enter_context(
            checked_archive(args.archive_file, trust=args.trust)
        )
        scores = run(args)
        if not any(name.endswith("loss") for name in scores):
            raise UserError(f"{args.input_file}: expected gold labels to compare with, got none")
    if scores.get("f1_bad") == 0 and scores["accuracy"] > 0:  # there are gold tags
        logger.warning("No BAD word is tagged BAD: `allennlp-nef calibrate` finds a threshold.")
    if args.output_file is None:
        print_lines(f"{name}: {score:.4f}" for name, score in scores.items())
