"""Registers the commands of this package as AllenNLP's `Subcommand`s, under their names."""

import argparse
import sys

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from allennlp_nef.commands import COMMANDS
from allennlp_nef.commands.command import Command, print_lines
from allennlp_nef.commands.reporting import status_of


def _register(command: Command) -> None:
    def run(args: argparse.Namespace) -> None:
        status = status_of(lambda: print_lines(command.run(args)))
        if status:
            sys.exit(status)

    @Subcommand.register(command.name)
    class CommandOfThisPackage(Subcommand):
        @overrides
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            subparser = parser.add_parser(
                command.name, help=command.summary, **command.parser_options()
            )
            command.add_arguments(subparser)
            subparser.set_defaults(func=run)
            return subparser


for _command in COMMANDS:
    _register(_command)
