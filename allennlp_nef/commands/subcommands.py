"""Registers the commands of this package as AllenNLP's `Subcommand`s, under their names."""

import argparse
import sys

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from allennlp_nef.commands import COMMANDS
from allennlp_nef.commands.command import Command
from allennlp_nef.commands.printing import error_message, print_error, print_lines
from allennlp_nef.errors import UserError


def _register(command: Command) -> None:
    def run(args: argparse.Namespace) -> None:
        try:
            print_lines(command.run(args))
        except (UserError, OSError) as error:
            print_error(error_message(error))
            sys.exit(getattr(error, "exit_status", 2))
        except KeyboardInterrupt:
            print_error("interrupted")
            sys.exit(130)

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
