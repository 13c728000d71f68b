import argparse
from typing import Any

from allennlp_nef.errors import UserError


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises a `UserError`, and shows default values as AllenNLP's does."""

    def add_argument(self, *names: Any, **options: Any) -> Any:
        default = options.get("default")
        is_switch = str(options.get("action")).startswith("store_") or default == argparse.SUPPRESS
        if default not in (None, "", [], ()) and not is_switch:
            options["help"] = f"{options.get('help', '')} (default = {default})"
        return super().add_argument(*names, **options)

    def error(self, message: str) -> Any:
        raise UserError(f"{message} ({self.prog} --help shows the options)")


def add_include_package(parser: argparse.ArgumentParser) -> None:
    """Adds the option that AllenNLP's commands have."""
    parser.add_argument(
        "--include-package",
        type=str,
        action="append",
        default=[],
        help="additional packages to include",
    )
