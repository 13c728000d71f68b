"""`allennlp-nef options`: the registered components and their options."""

import argparse
import inspect
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from allennlp_nef.errors import UserError

DETAILS = """
A component is anything that a config refers to by "type", in this package or in AllenNLP:

    %(prog)s
    %(prog)s neural_easy_first
"""
_SECTION = re.compile(r"^# Parameters$(.*?)(?=^# |\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w[^:\n]*)(?:: (.*))?\n((?:(?: .*)?\n)*)", re.M)
"""Matches the names, the type and default, and the indented description of parameters in a section."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="registered name, such as crf")


def run(args: argparse.Namespace) -> Iterator[str]:
    yield components() if args.name is None else options(args.name)


def components() -> str:
    """Returns the registered names of this package except its commands: one line for each base class."""
    from allennlp.common import Registrable

    lines = []
    for base, classes in Registrable._registry.items():
        own = sorted(
            n for n, (cls, _) in classes.items() if cls.__module__.startswith("allennlp_nef.")
        )
        if own and base.__name__ != "Subcommand":
            lines.append(f"{base.__name__}: {', '.join(own)}")
    return "\n".join(sorted(lines))


def options(name: str) -> str:
    """Returns the class, description and options of each component with this name; there may be several."""
    from allennlp.common import Registrable
    from allennlp.common.from_params import infer_constructor_params

    kinds = Registrable._registry.items()
    found = [(base, *classes[name]) for base, classes in kinds if name in classes]
    if not found:
        close = get_close_matches(name, {each for _, classes in kinds for each in classes})
        hint = f" (similar: {', '.join(close)})" if close else ""
        raise UserError(f"no component is registered as {name!r}{hint}")
    parts = []
    for base, cls, constructor in found:
        parts.append(f'{base.__name__} "{name}": {cls.__module__}.{cls.__qualname__}')
        parts.append(re.split(r"^# ", inspect.cleandoc(cls.__doc__ or ""), flags=re.M)[0])
        documented = documented_options(cls)
        function: Any = constructor and getattr(cls, constructor)
        for option, parameter in infer_constructor_params(cls, function).items():
            if option != "self" and parameter.kind != parameter.VAR_KEYWORD:
                kind, text = documented.get(option, ("", ""))
                parts.append(f"{option}: {kind or type_and_default(parameter)}\n{text}")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def type_and_default(parameter: inspect.Parameter) -> str:
    """Returns the type and default of an option, formatted as in docstrings."""
    kind = re.sub(r"(\w+\.)+", "", inspect.formatannotation(parameter.annotation))
    has_default = parameter.default is not parameter.empty
    return f"{kind}, optional (default = {parameter.default!r})" if has_default else kind


def documented_options(cls: type) -> dict[str, tuple[str, str]]:
    """Returns the type and default, and the description, of each option in the docstrings of a class and its bases."""
    found: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        for section in _SECTION.findall(inspect.cleandoc(base.__doc__ or "")):
            for names, kind, text in _ENTRY.findall(f"{section}\n"):
                for option in map(str.strip, names.split(",")):
                    if option not in found or not text.lstrip().startswith("See `"):
                        found[option] = kind.replace("`", ""), text
    return found
