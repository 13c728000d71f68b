"""Checks of options that several components have."""

from typing import Any

from allennlp.common.checks import ConfigurationError


def is_integer(value: Any, least: int = 1) -> bool:
    """Whether a value is an integer, and no bool, of at least `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def check_integers(least: int = 1, **values: Any) -> None:
    """Raises a `ConfigurationError` that names the first value that is no integer of at least `least`."""
    for name, value in values.items():
        if not is_integer(value, least):
            raise ConfigurationError(
                f"{name}: expected an integer of at least {least}, got {value!r}"
            )


def check_dropout(dropout: Any) -> None:
    """Raises a `ConfigurationError` where a dropout is no probability of less than 1."""
    if dropout is None or not 0 <= dropout < 1:
        raise ConfigurationError(f"dropout: expected a number in [0, 1), got {dropout}")
