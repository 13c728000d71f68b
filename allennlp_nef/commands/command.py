import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Command(NamedTuple):
    """A command of this package, for AllenNLP's program and for `allennlp-nef`.

    The module of a command is imported for every help text, so it imports what is slow only within `run`.
    """

    name: str
    summary: str
    """One line."""
    details: str
    """Printed as they stand, but for `%(prog)s`, the program with the command, and `%%`, a percent sign."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Iterator[str]]
    """Does the work, and yields the lines to print. Raises `UserError` or `OSError` for a mistake of the user."""
    needs_components: bool
    """Whether it loads models: then the components of this package and of plugins have to be registered."""

    def parser_options(self) -> dict[str, Any]:
        """The arguments of its `ArgumentParser`."""
        return {
            "description": f"{self.summary}\n{self.details}",
            "formatter_class": argparse.RawDescriptionHelpFormatter,
        }
