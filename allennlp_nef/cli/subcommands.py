"""Registers this package's commands as AllenNLP `Subcommand`s, so `allennlp` also offers them, as a plugin."""

import argparse
from importlib import import_module

from allennlp.commands.subcommand import Subcommand

from allennlp_nef.cli import COMMANDS, REPLACED
from allennlp_nef.cli.outputs import print_lines


def subcommand_of(name: str) -> type[Subcommand]:
    """Returns the class of a command of this package."""
    command = import_module(f"allennlp_nef.cli.{name.replace('-', '_')}")

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

    return Command


for _name in sorted(set(COMMANDS) - set(REPLACED)):
    Subcommand.register(_name, exist_ok=True)(subcommand_of(_name))
