"""Writes docs/reference.md: functions, registered names and commands, from signatures and docstrings.

python docs/make_reference.py            writes the page
python docs/make_reference.py --check    exits with 1 where the page is not up to date
"""

import argparse
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from allennlp.common import Registrable

import allennlp_nef  # noqa: F401  # registers
from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.shared import parser_options
from allennlp_nef.cli.terminal import Parser

PAGE = Path(__file__).resolve().parent / "reference.md"
TITLES = {
    "DatasetReader": "Dataset readers",
    "SentenceWeighting": "Sentence weightings",
    "Tokenizer": "Tokenizers",
    "TokenIndexer": "Token indexers",
    "TokenEmbedder": "Token embedders",
    "InputRepresentation": "Input representations",
    "Seq2SeqEncoder": "Encoders",
    "Seq2VecEncoder": "Pooling",
    "TreeEncoder": "Encoders of trees",
    "AttentionTransform": "Attention transforms",
    "Attention": "Attentions",
    "TagHead": "Tag heads",
    "PairOutput": "Outputs of pairs",
    "Halting": "Halting rules",
    "Model": "Models",
    "Metric": "Metrics",
    "Predictor": "Predictors",
    "BatchSampler": "Batch samplers",
    "LearningRateScheduler": "Learning rate schedulers",
    "Trainer": "Trainers",
    "MovingAverage": "Moving averages",
    "Checkpointer": "Checkpointers",
    "TrainerCallback": "Trainer callbacks",
    "Evaluator": "Evaluators",
}
"""The sections, in order. A kind that is not here is an error, but for AllenNLP's `Subcommand`."""
PYTHON = (
    "allennlp_nef.load",
    "allennlp_nef.predictors.NefTaggerPredictor.predict",
    "allennlp_nef.predictors.NefTaggerPredictor.trace",
    "allennlp_nef.predictors.WordQePredictor.predict",
    "allennlp_nef.predictors.WordQePredictor.trace",
    "allennlp_nef.corpora.Tagger",
    "allennlp_nef.serving.create_app",
    "allennlp_nef.exporting.runner.ExportedTagger",
    "allennlp_nef.cli.align_words.align_words",
    "allennlp_nef.cli.align_words.symmetrize",
    "allennlp_nef.cli.calibrate.calibrate",
    "allennlp_nef.cli.check_archive.check_archive",
    "allennlp_nef.cli.check_data.check_data",
    "allennlp_nef.cli.ensemble.ensemble",
    "allennlp_nef.cli.examples.write_examples",
    "allennlp_nef.cli.export.export",
    "allennlp_nef.cli.plot_labels.plot_labels",
    "allennlp_nef.cli.plot_sketches.plot_sketches",
    "allennlp_nef.cli.plot_steps.plot_steps",
    "allennlp_nef.cli.review.review",
    "allennlp_nef.cli.score_tags.score_tags",
    "allennlp_nef.cli.tag_corpus.tag_corpus",
    "allennlp_nef.nn.constrained_softmax.constrained_softmax",
    "allennlp_nef.nn.constrained_sparsemax.constrained_sparsemax",
    "allennlp_nef.metrics.significance.compare",
    "allennlp_nef.metrics.mpp.mpp_counts",
    "allennlp_nef.metrics.mpp.mpp_scores",
    "allennlp_nef.metrics.CountingMetric",
    "allennlp_nef.data.aligners.encoder_aligner.EncoderAligner",
    "allennlp_nef.data.dataset_readers.TaggingReader",
    "allennlp_nef.data.dataset_readers.SentenceReader",
    "allennlp_nef.data.formats.conll_columns.read_columns",
    "allennlp_nef.data.formats.conllu.read_conllu",
    "allennlp_nef.data.formats.wmt_word_qe.read_examples",
    "allennlp_nef.data.formats.error_spans.read_error_spans",
    "allennlp_nef.data.formats.error_spans.project_spans",
    "allennlp_nef.data.formats.wmt_segments.read_segments",
)
"""Functions, methods and classes for programs, besides those with registered names."""
INTRODUCTION = """# Reference

<!-- Written by docs/make_reference.py from the code: change the docstrings, not this page. -->

What a program can call, each name that the package registers, and the commands.
"""
PYTHON_INTRODUCTION = """
[Training](training.md#several-seeds) calls AllenNLP's `train_model`,
[Scoring](scoring.md#for-programs-and-from-python) the scorers, and
[Seeing why](seeing-why.md#as-data-and-in-notebooks) has the fields of traces. All predictors have AllenNLP's methods
`predict_json`, for a request, and `predict_batch_json`, for a list of them.
"""
NAMES_INTRODUCTION = """
The following sections have the registered names. A name is what stands in a config as `"type"`, or for a predictor
behind `--predictor`, with its parameters in `--predictor-args`. A parameter without a default is required.
"""
COMMANDS_INTRODUCTION = (
    "AllenNLP's own commands, such as `train`, say what they do with `allennlp-nef COMMAND --help`."
)
FILLED_IN = (
    "vocab",
    "serialization_dir",
    "optimizer",
    "parameters",
    "model",
    "dataset_reader",
    "kwargs",
    "options",
)
"""Not from a config or a command line."""
_PARAMETER = re.compile(
    r"(?P<names>\w[\w, ]*) : (?P<type>.*?)(?:, optional)?(?: \(default = (?P<default>.*)\))?"
)


class Parameter(NamedTuple):
    """What a docstring says about a parameter."""

    type: str
    default: str | None
    text: str


def registered() -> dict[str, dict[str, tuple[type, str | None]]]:
    """For each kind, by name: the class, and its constructor where it is not `__init__`."""
    kinds = {
        kind.__name__: {
            name: found
            for name, found in names.items()
            if found[0].__module__.split(".")[0] == "allennlp_nef"
        }
        for kind, names in Registrable._registry.items()
    }
    kinds = {kind: names for kind, names in kinds.items() if names and kind != "Subcommand"}
    unknown = set(kinds) - set(TITLES)
    if unknown:
        raise ValueError(f"TITLES: expected a title for each kind, got none for {sorted(unknown)}")
    return {kind: kinds[kind] for kind in TITLES if kind in kinds}


def own_classes(component: type) -> list[type]:
    """The class and its bases in this package."""
    return [base for base in component.__mro__ if base.__module__.startswith("allennlp_nef")]


def sections(component: object) -> dict[str, str]:
    """A docstring by its headings, `# Parameters` and the like; the text before them as ""."""
    text = inspect.cleandoc(component.__doc__ or "")
    parts = re.split(r"^# (.+)\n+", text, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def described(component: type) -> dict[str, Parameter]:
    """What the docstrings of a class and its bases say about parameters."""
    known: dict[str, Parameter] = {}
    for base in own_classes(component):
        if "__doc__" in vars(base):
            known = parameters_in(base) | known
    return known


def parameters_in(component: object) -> dict[str, Parameter]:
    """What a docstring says about parameters, by their names."""
    known = {}
    for head, text in entries_in(component):
        match = _PARAMETER.fullmatch(head)
        for name in match["names"].split(", ") if match else ():  # none: see a base
            known[name] = Parameter(match["type"], match["default"], text)
    return known


def entries_in(component: object) -> Iterator[tuple[str, str]]:
    """The first lines of the entries about parameters in a docstring, and their texts."""
    for entry in re.split(r"^(?=\S)", sections(component).get("Parameters", ""), flags=re.M):
        head, _, text = entry.partition("\n")
        if head:
            yield head.strip(), textwrap.dedent(text).strip()


def parameters(component: type, constructor: str | None) -> Iterator[inspect.Parameter]:
    """Those that a config gives, with those of the bases that `**kwargs` goes to."""
    names = set(FILLED_IN)
    functions = [getattr(component, constructor)] if constructor else []
    functions += [
        vars(base)["__init__"] for base in own_classes(component) if "__init__" in vars(base)
    ]
    for function in functions:
        signature = inspect.signature(function).parameters
        for parameter in signature.values():
            if parameter.name not in {"self", *names}:
                names.add(parameter.name)
                yield parameter
        if not any(each.kind is each.VAR_KEYWORD for each in signature.values()):
            return


def as_item(parameter: inspect.Parameter, known: Parameter | None) -> str:
    """A parameter as an item of a list."""
    if known is None:
        known = Parameter(f"`{inspect.formatannotation(parameter.annotation)}`", None, "")
    default = None
    if parameter.default is not parameter.empty:
        value: Any = parameter.default
        plain = isinstance(value, (bool, int, float, str))
        default = f"`{value!r}`".replace("'", '"') if plain else known.default or "`None`"
        if plain and known.default is not None and default not in known.default:
            raise ValueError(
                f"{parameter.name}: expected {default} in the docstring, got {known.default}"
            )
    details = known.type + (f", default {default}" if default else "")
    return item(f"- `{parameter.name}` ({details})", known.text)


def prose(component: type) -> str:
    """The docstring of a class before its headings, without where it is registered."""
    text = sections(component)[""]
    text = re.sub(r"\s*Registered as an?\s+`\w+`\s+with\s+name\s+\"[\w-]+\"\.", "", text)
    text = re.sub(r"\s*Parameters:\s+see\s+`\w+`\.", "", text)
    return text.strip()


def component_entry(name: str, component: type, constructor: str | None) -> str:
    known = described(component)
    listed = list(parameters(component, constructor))
    if "takes the options of" in sections(component)[""]:  # those of AllenNLP's class
        listed = [each for each in listed if each.name in known]
    try:
        items = [as_item(each, known.get(each.name)) for each in listed]
    except ValueError as error:
        raise ValueError(f"{component.__name__}: {error}") from None
    path = f"{component.__module__}.{component.__name__}"
    parts = [f"### {name}", f"`{path}`", escaped(prose(component))]
    return "\n\n".join([*parts, *(["Parameters:", "\n".join(items)] if items else [])])


def python_entry(path: str) -> str:
    """A function, a method or a class that a program calls, from its import path."""
    component = pkgutil.resolve_name(path)
    texts, known = sections(component), parameters_in(component)
    signature = inspect.signature(component).parameters.values()
    call = ", ".join(as_argument(each) for each in signature if each.name != "self")
    items = [as_item(each, known[each.name]) for each in signature if each.name in known]
    items += [
        item("- `**options`", text) for head, text in entries_in(component) if head == "options"
    ]
    owner, name = path.split(".")[-2:]
    parts = [
        f"### {owner}.{name}" if owner[0].isupper() else f"### {name}",
        f"`{path}({call})`",
        escaped(prose(component)),
    ]
    if items:
        parts += ["Parameters:", "\n".join(items)]
    parts += [
        f"{key}: {escaped(texts[key].strip())}" for key in ("Returns", "Raises") if key in texts
    ]
    return "\n\n".join(parts)


def as_argument(parameter: inspect.Parameter) -> str:
    """A parameter in a call: its name, and its default if it has one."""
    stars = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}.get(parameter.kind, "")
    default = parameter.default
    if default is parameter.empty:
        return stars + parameter.name
    return f"{parameter.name}={default!r}" if is_plain(default) else f"{parameter.name}=..."


def is_plain(value: object) -> bool:
    return value is None or value == () or isinstance(value, (bool, int, float, str))


def command_entry(name: str) -> str:
    """A command, from its parser."""
    command, prog = COMMANDS[name], f"allennlp-nef {name}"
    parser = Parser(prog=prog, **parser_options(command))
    command.add_arguments(parser)
    items = []
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            names = ", ".join(action.option_strings)
            choices = "|".join(map(str, action.choices or []))
            value = "" if action.nargs == 0 else action.metavar or choices or action.dest.upper()
            items.append(item(f"- `{f'{names} {value}'.strip()}`", action.help or ""))
    details = textwrap.indent((command.DETAILS % {"prog": prog}).strip("\n"), "    ")
    return "\n\n".join([f"### {name}", command.SUMMARY, details, "\n".join(items)])


def item(head: str, text: str) -> str:
    """An item of a list: lines of at most 120 characters."""
    text = escaped(" ".join(text.split()))
    return textwrap.fill(
        f"{head}: {text}" if text else head, 120, subsequent_indent="  ", break_on_hyphens=False
    )


def escaped(text: str) -> str:
    """Markdown would take `<name>` outside of code for HTML."""
    lines = text.split("\n")
    return "\n".join(
        line
        if line.startswith("    ")
        else re.sub(r"<(?=[a-z/!])(?=[^`]*(`[^`]*`[^`]*)*$)", "&lt;", line)
        for line in lines
    )


def reference() -> str:
    """The text of the page."""
    parts = [INTRODUCTION.strip(), "## Python", PYTHON_INTRODUCTION.strip()]
    parts += [*map(python_entry, PYTHON), "## Registered names", NAMES_INTRODUCTION.strip()]
    for kind, names in registered().items():
        parts.append(f"## {TITLES[kind]}")
        parts += [component_entry(name, *found) for name, found in sorted(names.items())]
    parts += ["## Commands", COMMANDS_INTRODUCTION, *map(command_entry, COMMANDS)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    text = reference()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE}: not up to date; run python docs/make_reference.py")


if __name__ == "__main__":
    main()
