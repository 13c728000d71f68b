"""The configs that commands read, and the overrides of their option."""

import os
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any

from allennlp.common import Params
from allennlp.common.params import parse_overrides, with_overrides

from allennlp_nef.errors import UserError, quote


def _is_integer(value: Any) -> bool:
    # Of an environment variable, a seed is a text.
    is_number = isinstance(value, str) and value.strip().isdecimal()
    return value is None or isinstance(value, int) or is_number


# What AllenNLP takes from a config without a check.
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("random_seed", "pytorch_seed"), (_is_integer, "an integer")),
    "numpy_seed": (
        lambda value: _is_integer(value) and 0 <= int(value or 0) < 2**32,
        f"an integer from 0 to {2**32 - 1}",
    ),
    **dict.fromkeys(
        ("data_loader", "dataset_reader", "model", "trainer"),
        (lambda value: isinstance(value, (dict, str)), "an object"),
    ),
    "distributed": (lambda value: value is None or isinstance(value, dict), "an object"),
    "include_in_archive": (
        lambda value: (
            value is None
            or isinstance(value, list)
            and all(isinstance(name, str) for name in value)
        ),
        "a list of file names",
    ),
}


def config_of(path: str, overrides: str = "") -> dict[str, Any]:
    """The config of a file with the overrides of `--overrides`.

    # Raises

    `UserError`: no file, a file that is not Jsonnet or cannot be evaluated, a value of a wrong type; and what
    `overridden` raises.
    """
    if not path:
        raise UserError("CONFIG: expected the path of a config, got ''")
    if os.path.isdir(path):  # Jsonnet would end the process
        raise UserError(f"{path}: expected a config file, got a folder")
    try:
        config = Params.from_file(path).params
    except FileNotFoundError as error:
        raise UserError(f"{path}: expected a config file, got no such file") from error
    except (OSError, RuntimeError, ValueError) as error:  # Jsonnet raises the second
        raise UserError(f"{path}: expected a config in Jsonnet, got {error}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected an object, got {quote(config)}")
    config = overridden(config, overrides)
    for name, (check, expected) in _CHECKS.items():
        if name in config and not check(config[name]):
            raise UserError(f"{path}: {name}: expected {expected}, got {quote(config[name])}")
    return config


def overridden(config: dict[str, Any], overrides: str) -> dict[str, Any]:
    """A config with the overrides. Raises a `UserError` where they are no object, or change what is not there."""
    values = overrides_of(overrides)
    try:
        return with_overrides(config, values)
    except ValueError as error:
        keys = list(_keys_of(config))
        near = [get_close_matches(key, keys, 1) for key in values if repr(key) in str(error)]
        hint = f"; did you mean {', '.join(sum(near, []))}?" if any(near) else ""
        raise UserError(f"--overrides: {error}{hint}") from error


def _keys_of(value: Any, prefix: str = "") -> Iterator[str]:
    """All keys in a config, with dots."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield f"{prefix}{key}"
        yield from _keys_of(inner, f"{prefix}{key}.")


def overrides_of(text: str) -> dict[str, Any]:
    """The value of `--overrides`. Raises a `UserError` where it is no object in Jsonnet."""
    try:
        values = parse_overrides(text)
    except (RuntimeError, ValueError) as error:
        hint = """; a key with dots needs quotes, as in {"trainer.num_epochs": 1}"""
        end = hint if re.search(r"[{,]\s*\w+\.", text) else ""
        raise UserError(f"--overrides: {str(error).rstrip()}{end}") from error
    if not isinstance(values, dict):
        raise UserError(f"--overrides: expected a JSON object, got {quote(text)}")
    return values
