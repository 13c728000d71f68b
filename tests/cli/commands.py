"""The output of commands of this package, without AllenNLP's program."""

import argparse


def output(command, *arguments):
    """What a command prints, given its module and its arguments."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(list(map(str, arguments)))
    return "".join(f"{line}\n" for line in command.run(args))
