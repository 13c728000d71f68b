"""Checks of the arguments of AllenNLP's commands, which these do not make."""

import argparse
import json
import os

from allennlp_nef.errors import UserError, quote


def check_arguments(args: argparse.Namespace) -> None:
    """Checks what AllenNLP's commands would drop, ignore or end badly with.

    # Raises

    `UserError`: a batch size below 1, a config that is a folder, a folder of another training, predictor arguments or
    overrides that are not a JSON object, a GPU that is not there, a port that cannot exist, a missing folder of static
    files.
    """
    given = vars(args)
    batch_size = given.get("batch_size")
    if batch_size is not None and batch_size < 1:
        raise UserError(f"--batch-size: expected an integer of at least 1, got {batch_size}")
    config = given.get("param_path")
    if config is not None and os.path.isdir(config):
        raise UserError(f"{config}: expected a config file, got a folder")
    if "recover" in given and not (args.recover or args.force):  # a training
        run = args.serialization_dir
        if os.path.isdir(run) and os.listdir(run):
            raise UserError(
                f"{run}: expected a new or empty folder, got one with files; -f replaces it, --recover goes on with "
                "its training"
            )
    for name in ("predictor_args", "overrides"):
        _check_object(f"--{name.replace('_', '-')}", given.get(name))
    if isinstance(given.get("cuda_device"), int):
        from allennlp_nef.predictors.archives import check_device

        check_device(given["cuda_device"])
    port = given.get("port")
    if port is not None and not 0 <= port < 2**16:
        raise UserError(f"--port: expected a number from 0 to 65535, got {port}")
    folder = given.get("static_dir")
    if folder is not None and not os.path.isdir(folder):
        raise UserError(f"--static-dir: expected a folder, got {quote(folder)}")


def _check_object(option: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        return
    try:
        value = json.loads(text)
    except ValueError as error:
        if option == "--overrides":
            return  # Jsonnet, which is more than JSON
        raise UserError(f"{option}: expected a JSON object, got {quote(text)} ({error})") from error
    if not isinstance(value, dict):
        raise UserError(f"{option}: expected a JSON object, got {quote(text)}")
