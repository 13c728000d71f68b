"""Registers this package's commands as AllenNLP `Subcommand`s, so `allennlp` also offers them, as a plugin."""

import argparse

from allennlp.commands.subcommand import Subcommand

from allennlp_nef.cli import COMMANDS, REPLACED
from allennlp_nef.cli.program import add_command


def subcommand_of(name: str) -> type[Subcommand]:
    """Returns the class of a command of this package."""

    class Command(Subcommand):
        def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
            return add_command(parser, name)

    return Command


for _name in sorted(set(COMMANDS) - set(REPLACED)):
    Subcommand.register(_name, exist_ok=True)(subcommand_of(_name))
