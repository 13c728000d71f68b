"""Options of components: checks of their values, and the names that components are registered under."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError


def is_integer(value: Any, minimum: int = 1) -> bool:
    """Whether a value is an integer (a bool is not) of at least `minimum`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def check_integers(minimum: int = 1, **values: Any) -> None:
    """Raises a `ConfigurationError` for the first value that is not an integer of at least `minimum`."""
    for name, value in values.items():
        if not is_integer(value, minimum):
            raise ConfigurationError(
                f"{name}: expected an integer of at least {minimum}, got {value!r}"
            )


def check_dropout(dropout: Any) -> None:
    """Raises a `ConfigurationError` for a dropout that is not in [0, 1)."""
    if dropout is None or not 0 <= dropout < 1:
        raise ConfigurationError(f"dropout: expected a number in [0, 1), got {dropout}")


def check_fields(
    base: type[Registrable], module: torch.nn.Module, fields: Mapping[str, Any]
) -> None:
    """Raises a `ConfigurationError` where a module does not take the fields of a batch, or lacks one."""
    options = signature(module.forward)
    try:
        options.bind(**fields)
    except TypeError:
        needed = [
            name
            for name, option in options.parameters.items()
            if option.default is Parameter.empty and option.kind is not Parameter.VAR_KEYWORD
        ]
        raise ConfigurationError(
            f"{registered_name(base, module)}: expected a dataset_reader that gives the fields "
            f"{', '.join(needed)}, got one that gives {', '.join(fields)}"
        ) from None


def registered_name(base: type[Registrable], component: object) -> str:
    """The name under which a class, or that of an instance, is registered with `base`, or the name of the class."""
    kind = component if isinstance(component, type) else type(component)
    for name in base.list_available():
        if base.by_name(name) is kind:
            return name
    return kind.__name__
