"""Registers the commands of this package as AllenNLP's `Subcommand`s, under their names."""

import argparse
import sys
from types import ModuleType

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.shared import parser_options, print_lines
from allennlp_nef.cli.terminal import status_of


def _register(name: str, command: ModuleType) -> None:
    def run(args: argparse.Namespace) -> None:
        status = status_of(lambda: print_lines(command.run(args)))
        if status:
            sys.exit(status)

    @Subcommand.register(name)
    class CommandOfThisPackage(Subcommand):
        @overrides
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            subparser = parser.add_parser(name, help=command.SUMMARY, **parser_options(command))
            command.add_arguments(subparser)
            subparser.set_defaults(func=run)
            return subparser


for _name, _command in COMMANDS.items():
    _register(_name, _command)
