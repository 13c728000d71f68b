"""Options of components: checks of their values, and the names that components are registered under."""

from typing import Any

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


def registered_name(base: type[Registrable], component: object) -> str:
    """The name under which a class, or that of an instance, is registered with `base`, or the name of the class."""
    kind = component if isinstance(component, type) else type(component)
    for name in base.list_available():
        if base.by_name(name) is kind:
            return name
    return kind.__name__
