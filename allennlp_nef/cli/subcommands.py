"""Registers this package's commands as AllenNLP `Subcommand`s, so `allennlp` also offers them, as a plugin."""

import argparse
from importlib import import_module

from allennlp.commands.subcommand import Subcommand

from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.outputs import print_lines


def register(name: str) -> None:
    """Registers a command; one of the same name is replaced."""
    command = import_module(f"allennlp_nef.cli.{name.replace('-', '_')}")

    @Subcommand.register(name, exist_ok=True)
    class Command(Subcommand):
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            subparser = parser.add_parser(
                name,
                help=command.SUMMARY,
                description=f"{command.SUMMARY}\n{command.DETAILS}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            command.add_arguments(subparser)
            subparser.set_defaults(func=lambda args: print_lines(command.run(args)))
            return subparser


for _name in COMMANDS:
    register(_name)
