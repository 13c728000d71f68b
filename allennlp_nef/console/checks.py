"""Checks of the arguments of AllenNLP's commands, which these do not make."""

import argparse
import json
import logging
import math
import os
import socket
from pathlib import Path
from typing import Any

from allennlp_nef.errors import UserError, quote, unknown_option

logger = logging.getLogger(__name__)

_OBJECTS = (
    "predictor_args",
    "embedding_sources_mapping",
    "task_suite_args",
    "print_summary_args",
)


def check_arguments(args: argparse.Namespace) -> None:
    """Checks what AllenNLP's commands would drop, ignore or end badly with.

    # Raises

    `UserError`: a batch size below 1, a folder of another run, no input, arguments or overrides that are not a
    JSON object, a GPU that is not there, a missing folder of static files or of runs, a port that cannot exist or is in
    use, learning rates that are not above 0 or not in order, no metrics to print, output files of `evaluate` for other
    inputs or in no folder, an output of `build-vocab` that it would not write.
    """
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
        _check_object(f"--{name.replace('_', '-')}", given.get(name))
    if given.get("overrides"):
        from allennlp_nef.commands.configs import overrides_of

        overrides_of(args.overrides)
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
    if "auto_names" in given:
        _check_outputs(args)
    if "output_path" in given:
        _check_vocabulary(args.output_path, args.force)


def _check_object(option: str, text: str | None) -> None:
    if not text or not text.strip():
        return
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"{option}: expected a JSON object, got {quote(text)} ({error})") from error
    if not isinstance(value, dict):
        raise UserError(f"{option}: expected a JSON object, got {quote(text)}")


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
    known = {key for path in paths for key in json.loads(path.read_text(encoding="utf-8"))}
    for key in keys:
        if paths and key not in known:
            logger.warning(unknown_option("--keys", key, known, "metrics"))


def _check_outputs(args: argparse.Namespace) -> None:
    """Checks that `evaluate` has as many output files as input files, in folders that exist."""
    inputs: list[Any]
    try:
        inputs = json.loads(f"[{args.input_file}]")
    except ValueError:
        inputs = args.input_file.split(",")
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
                if not os.path.isdir(os.path.dirname(path) or "."):
                    raise UserError(f"{option}: expected a file in a folder, got {quote(path)}")


def _check_vocabulary(path: str, is_forced: bool) -> None:
    """Checks the output of `build-vocab`."""
    if not path.endswith(".tar.gz"):
        raise UserError(f"output_path: expected a name that ends with .tar.gz, got {quote(path)}")
    if os.path.exists(path) and not is_forced:
        raise UserError(f"{path}: expected no such file, got one: --force writes over it")
