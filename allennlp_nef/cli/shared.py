"""What several commands share: options, tables, and files to write."""

import argparse
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature, unwrap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypeVar

from allennlp_nef.data.formats.text_files import file_error
from allennlp_nef.errors import UserError, quote

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
FORMATS = ("png", "svg")
"""The formats of plots."""


def parser_options(command: ModuleType) -> dict[str, Any]:
    """The arguments of the `ArgumentParser` of a command."""
    return {
        "description": f"{command.SUMMARY}\n{command.DETAILS}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def call_with(function: Callable[..., Result], args: argparse.Namespace) -> Result:
    """Calls the Python function of a command with the options that its parameters name."""
    names = signature(function).parameters
    return unwrap(function)(**{name: getattr(args, name) for name in names})


def checking(
    add_arguments: Callable[[argparse.ArgumentParser], None],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorates the Python function of a command: it takes what the command takes, and its errors name arguments.

    A text in place of a list stands for a list of one.

    # Raises

    `UserError`: a value that is none of the choices of an option, or out of its range.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            parser = argparse.ArgumentParser(add_help=False)
            add_arguments(parser)
            bound = signature(function).bind(*args, **kwargs)
            for action in parser._actions:
                if bound.arguments.get(action.dest) is not None:
                    value = _checked(action, bound.arguments[action.dest])
                    bound.arguments[action.dest] = value
            try:
                return function(*bound.args, **bound.kwargs)
            except UserError as error:
                error.args = (_with_argument_names(str(error), parser),)
                raise

        return checked

    return decorate


def _checked(action: argparse.Action, value: Any) -> Any:
    takes_several = action.nargs in ("+", "*")
    if takes_several and isinstance(value, str):
        value = [value]
    for item in value if takes_several else [value]:
        if action.choices is not None and item not in action.choices:
            choices = ", ".join(map(str, action.choices))
            raise UserError(f"{action.dest}: expected one of {choices}, got {quote(item)}")
        if callable(action.type):
            try:
                action.type(str(item))
            except (argparse.ArgumentTypeError, ValueError) as error:
                raise UserError(f"{action.dest}: {error}") from error
    return value


_PYTHON = re.compile(r"--trust \(in Python (.*?)\)")
_NAME = re.compile(r"(?<![\w'\"/.-])(--[a-z-]+|[A-Z]+)(?![\w/.-])")


def _with_argument_names(message: str, parser: argparse.ArgumentParser) -> str:
    """A message with the names of arguments in place of those of options."""
    names = {name: action.dest for action in parser._actions for name in action.option_strings}
    names.update({str(a.metavar): a.dest for a in parser._actions if not a.option_strings})
    return _NAME.sub(lambda m: names.get(m[0], m[0]), _PYTHON.sub(r"\1", message))


def json_object(option: str, value: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The value of an option that is a JSON object; in Python it may be a dict. An empty one where it is not given."""
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError as error:
            raise UserError(
                f"{option}: expected a JSON object, got {quote(value)} ({error})"
            ) from error
    else:
        parsed = dict(value or {})
    if not isinstance(parsed, dict):
        raise UserError(f"{option}: expected a JSON object, got {quote(value)}")
    return parsed


def integer(minimum: int) -> Callable[[str], int]:
    """The `type` of an argument: an integer of at least `minimum`, and at most the largest index."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if not minimum <= value <= sys.maxsize:
            raise argparse.ArgumentTypeError(
                f"expected an integer of at least {minimum}, got {text!r}"
            )
        return value

    return parse


def number(minimum: float) -> Callable[[str], float]:
    """The `type` of an argument: a finite number of at least `minimum`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not minimum <= value < math.inf:
            raise argparse.ArgumentTypeError(
                f"expected a number of at least {minimum:g}, got {text!r}"
            )
        return value

    return parse


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that load archives; `args.trust` goes to `load_predictor`."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="let archives do what AllenNLP lets them do, such as call any function; for archives of one's own",
    )


def add_with_encoder(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that write a copy of an archive; `args.with_encoder` goes to `write_archive`."""
    parser.add_argument(
        "--with-encoder",
        action="store_true",
        help="put the pretrained encoder into the new archive, for one that has no more of it than was trained "
        "(`save_weights: false`)",
    )


def add_batches(parser: argparse.ArgumentParser, model: str = "the model") -> None:
    """Adds the options of commands that run a model on sentences."""
    parser.add_argument(
        "--batch-size",
        type=integer(1),
        default=64,
        metavar="N",
        help=f"sentences that go through {model} at once",
    )
    parser.add_argument(
        "--cuda-device",
        type=integer(-1),
        default=-1,
        metavar="I",
        help="the number of a GPU, or -1 for the CPU",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that write plots into a folder."""
    parser.add_argument(
        "--output", metavar="DIR", required=True, help="folder; files in it are overwritten"
    )


def add_format(parser: argparse.ArgumentParser, plots: str = "plot") -> None:
    """Adds the option of commands that write plots in several `FORMATS`."""
    parser.add_argument(
        "--format", nargs="+", choices=FORMATS, help=f"formats of the {plots} (default = both)"
    )


def formats_of(given: Sequence[str] | None) -> list[str]:
    """The values of --format, each once; by default all `FORMATS`."""
    return list(dict.fromkeys(given or FORMATS))


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines, to standard output by default. Letters that the terminal does not have become escapes."""
    for line in lines:
        stream = sys.stdout if file is None else file
        if stream is None:  # the user closed it
            raise UserError("standard output: expected a stream that is open, got a closed one")
        encoding = stream.encoding or "utf-8"
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)


Column = tuple[str, str, Callable[[Any], str]]
"""Its head, the name of its values in the rows, and the function that formats a value."""


def table_text(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of the values of rows, with a header line. The first column is aligned to the left."""
    cells = [[head for head, _, _ in columns]]
    cells += [[write(row[name]) for _, name, write in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells
    )


def percent(share: float | None) -> str:
    """A fraction as a percentage with two decimals; "-" for None."""
    return "-" if share is None else f"{100 * share:.2f}"


def decimals(value: float | None) -> str:
    """A number with four decimals; "-" for None."""
    return "-" if value is None else f"{value:.4f}"


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A path to write the content of a file to; at the end of the context it becomes the file.

    A folder that is missing is made. Where writing fails, the file stays as it was, and a `UserError` names it. A
    device, such as /dev/stdout, cannot become another file.
    """
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: expected a file, got a folder or a special file")
    draft = path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            draft = Path(folder) / path.name
            yield draft
            os.replace(draft, path)
    except OSError as error:
        if error.filename and not Path(error.filename).is_relative_to(draft.parent):
            raise  # of another file
        raise UserError(
            f"{path}: expected a file that can be written, got {reason_of(error)!r}"
        ) from error


def read_metrics(path: Path) -> dict[str, Any]:
    """The metrics of a file, as a training or `evaluate` writes them. Raises a `UserError` where it has none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise file_error(str(path), error) from error
    except (RecursionError, ValueError) as error:
        raise UserError(f"{path}: expected a JSON file of metrics, got {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected a JSON object of metrics, got {quote(values)}")
    return values


def write_texts(stem: Path, texts: Mapping[str, str]) -> None:
    """Writes texts to files: `stem` and the keys as their endings."""
    for ending, text in texts.items():
        with writing(stem.with_name(f"{stem.name}.{ending}")) as draft:
            draft.write_text(text, encoding="utf-8", errors="backslashreplace")


def save_figure(figure: "Figure", stem: Path, formats: Sequence[str]) -> list[Path]:
    """Writes a figure to one file for each of the `FORMATS` asked for: `stem` and the format as the ending."""
    from allennlp_nef.figures.style import DPI

    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in formats]
    for path, ending in zip(paths, formats):
        # Without the date, so that the same figure gives the same file.
        metadata = {"Date": None} if ending == "svg" else None
        with writing(path) as draft:
            figure.savefig(str(draft), format=ending, dpi=DPI, metadata=metadata)
    return paths


def reason_of(error: OSError) -> str:
    """The reason that the system gives, or the message of a library that raised the error without one."""
    return error.strerror or str(error)


def check_folder(name: str, option: str = "--output") -> None:
    """Raises a `UserError` where the value of an option cannot be a folder to write to."""
    if not name:
        raise UserError(f"{option}: expected the name of a folder, got ''")
    if os.path.exists(name) and not os.path.isdir(name):
        raise UserError(f"{option}: expected a folder, got the file {name}")


def check_outputs(outputs: Mapping[str, str | None], inputs: Iterable[Path]) -> None:
    """Raises a `UserError` where the value of an option is no name of a file, or that of an input or another output."""
    taken = {path.resolve() for path in inputs}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name or (os.path.exists(name) and not os.path.isfile(name)):
            raise UserError(f"--{option}: expected the name of a file, got {name!r}")
        if Path(name).resolve() in taken:
            raise UserError(f"--{option}: expected a file of its own, got {name!r} again")
        taken.add(Path(name).resolve())
