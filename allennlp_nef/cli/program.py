"""The program `allennlp-nef`: finds the command, runs it, and ends with an exit status."""

import argparse
import platform
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec

from allennlp_nef.cli import COMMANDS, WITHOUT_COMPONENTS
from allennlp_nef.cli.shared import parser_options, print_lines
from allennlp_nef.cli.terminal import (
    Parser,
    add_include_package,
    ignore_warnings,
    set_up_logging,
    status_of,
)
from allennlp_nef.version import VERSION

PROGRAM = "allennlp-nef"
TRACEBACK = "--traceback"
ALLENNLP_COMMANDS = {
    "build-vocab": "Build a vocabulary from a config.",
    "cached-path": "Fetch remote files into AllenNLP's cache, list them, or remove them.",
    "checklist": "Run a suite of behavioral tests on a trained model.",
    "count-instances": "Count the training instances of a config.",
    "diff": "Show the differences between two checkpoints.",
    "evaluate": "Evaluate a trained model on data.",
    "find-lr": "Try a range of learning rates with a config.",
    "predict": "Predict with a trained model.",
    "print-results": "Print the metrics of several training runs.",
    "push-to-hf": "Push a model to the Hugging Face Hub.",
    "test-install": "Test the installation of AllenNLP.",
    "train": "Train a model from a config.",
}
SERVER_COMMANDS = {"serve": "Serve a trained model over HTTP."}


def run(arguments: Sequence[str]) -> int:
    """Runs the program, and returns its exit status: see `status_of`, which reports errors. A bug is raised."""
    ignore_warnings()
    set_up_logging()
    others = [argument for argument in arguments if argument != TRACEBACK]
    return status_of(lambda: _run_command(*(others or ["--help"])), TRACEBACK in arguments)


def _run_command(name: str, *arguments: str) -> None:
    if name in COMMANDS:
        _run_own_command(name, arguments)
    elif name.startswith("-"):
        parser = _program_parser()
        parser.parse_args([name, *arguments])
        parser.print_help()
    else:
        from allennlp_nef.cli.allennlp_program import run_allennlp

        run_allennlp(PROGRAM, [name, *arguments])


def _run_own_command(name: str, arguments: Sequence[str]) -> None:
    command = COMMANDS[name]
    parser = Parser(prog=f"{PROGRAM} {name}", **parser_options(command))
    command.add_arguments(parser)
    add_include_package(parser)
    args = parser.parse_args(arguments)
    packages = [package for package in args.include_package if package != "allennlp_nef"]
    if name not in WITHOUT_COMPONENTS or packages:
        from allennlp_nef.cli.allennlp_program import register_components

        register_components(packages)
    print_lines(command.run(args))


def _program_parser() -> argparse.ArgumentParser:
    """The parser of the options of the program itself. Its help lists the commands."""
    has_server = find_spec("allennlp_server") is not None
    allennlp = {**ALLENNLP_COMMANDS, **(SERVER_COMMANDS if has_server else {})}
    own = {name: command.SUMMARY for name, command in COMMANDS.items()}
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [--help] [--version] [{TRACEBACK}] COMMAND ...",
        description="AllenNLP's commands with the components of allennlp_nef, and the commands of allennlp_nef.",
        epilog=f"commands of AllenNLP:\n{_listed(allennlp)}\n\ncommands of allennlp_nef:\n{_listed(own)}\n\n"
        f"{PROGRAM} COMMAND --help shows the options of a command, such as\n    {PROGRAM} train --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    versions = {
        "allennlp_nef": VERSION,
        "AllenNLP": _version_of("allennlp"),
        "torch": _version_of("torch"),
        "Python": platform.python_version(),
    }
    parser.add_argument(
        "--version",
        action="version",
        version="\n".join(f"{name} {version}" for name, version in versions.items()),
        help="show the versions of allennlp_nef, AllenNLP, torch and Python, and exit",
    )
    parser.add_argument(
        TRACEBACK,
        action="store_true",
        help="with any command, anywhere on the line: show where an error was raised",
    )
    return parser


def _version_of(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "is not installed"


def _listed(commands: dict[str, str]) -> str:
    return "\n".join(f"  {name:<15}  {summary}" for name, summary in commands.items())
