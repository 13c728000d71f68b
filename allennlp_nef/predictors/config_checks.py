"""Finds in the config of an archive what would do more than build a model. Nothing of it is built or imported."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Union

from allennlp.common import Lazy, Params, Registrable
from allennlp.common.from_params import infer_constructor_params
from allennlp.common.params import remove_keys_from_params
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.evaluation import Evaluator
from allennlp.models import Model
from allennlp.training.metrics import EvalbBracketingScorer

from allennlp_nef.errors import quote

BUILT: Mapping[str, type] = {
    "dataset_reader": DatasetReader,
    "validation_dataset_reader": DatasetReader,
    "vocabulary": Vocabulary,
    "model": Model,
    "data_loader": DataLoader,
    "validation_data_loader": DataLoader,
    "evaluation": Evaluator,
}
"""The parts of an archive's config that AllenNLP's commands build."""
PROGRAMS = (EvalbBracketingScorer,)
"""Registered classes that run a program which the config names."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\s*/\s*/")
"""Anywhere in a text: what is taken for an address may have whitespace, or stand in brackets: `(address)#name`."""
Problems = dict[str, str]
"""What is wrong, by the place of the value in the config, such as `model.encoder.type`."""


def read_config(text: str) -> dict[str, Any]:
    """The config in a text of plain JSON, as AllenNLP archives it. It would read Jsonnet, too, which can read files.

    # Raises

    `ValueError`: another text, or JSON that is not an object.
    """
    try:
        config = json.loads(text)
    except RecursionError as error:
        raise ValueError("expected JSON that is less deep") from error
    except ValueError as error:
        raise ValueError(f"expected plain JSON, got another text ({error})") from error
    if not isinstance(config, dict):
        raise ValueError("expected a JSON object")
    return config


def problems_of(config: dict[str, Any]) -> Problems:
    """What a config would import, call or download, besides the registered components of installed packages.

    # Raises

    `ValueError`: a config that is too deep.
    """
    problems: Problems = {}
    try:
        built = built_parts(config)
        _check_values(config, "", problems)
        for name, kind in BUILT.items():
            _check_argument(built.get(name), kind, name, problems)
            if name in ("dataset_reader", "validation_dataset_reader", "model"):
                _check_addresses(built.get(name), name, problems)
    except RecursionError as error:
        raise ValueError("expected JSON that is less deep") from error
    return problems


def built_parts(config: dict[str, Any]) -> dict[str, Any]:
    """A copy of a config, without the options that AllenNLP leaves out where it builds the model of an archive."""
    remaining = Params(json.loads(json.dumps(config)))
    if "model" in remaining:
        remove_keys_from_params(remaining["model"])
    built: dict[str, Any] = remaining.as_dict(quiet=True)
    return built


def not_registered(kind: type, name: str) -> bool:
    """Whether a name stands for a class to import, or for one that runs programs."""
    registry = Registrable._registry.get(kind, {})
    return "." in name if name not in registry else registry[name][0] in PROGRAMS


def _check_values(value: Any, place: str, problems: Problems) -> None:
    """What is refused wherever it stands."""
    for key, item in items_of(value):
        inner = f"{place}.{key}" if place else str(key)
        is_import = key == "type" and isinstance(item, str) and "." in item
        if is_import and not any(item in names for names in Registrable._registry.values()):
            problems[inner] = _expected_name(item)
        if key == "trust_remote_code" and item not in (False, None):
            problems[inner] = f"expected false, got {quote(item)}"
        _check_values(item, inner, problems)


def _check_addresses(value: Any, place: str, problems: Problems) -> None:
    if isinstance(value, str) and _ADDRESS.search(value):
        problems[place] = f"expected a file, got the address {quote(value)}"
    for key, item in items_of(value):
        _check_addresses(item, f"{place}.{key}", problems)


def _check_argument(value: Any, annotation: Any, place: str, problems: Problems) -> None:
    """Follows AllenNLP's `construct_arg`, which makes a value of a config an argument with a type."""
    origin, kinds = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    if hasattr(annotation, "from_params"):
        _check_component(value, annotation, place, problems)
    elif origin in (Lazy, Union):
        if not (isinstance(value, str) and str in kinds):
            for kind in kinds:
                _check_argument(value, kind, place, problems)
    elif origin is tuple and isinstance(value, list):
        for index, (item, kind) in enumerate(zip(value, kinds)):
            _check_argument(item, kind, f"{place}.{index}", problems)
    elif origin is not None and kinds:
        is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        for key, item in items_of(value):
            # Of an object in place of a list, AllenNLP takes the keys.
            argument = key if isinstance(value, dict) and not is_mapping else item
            _check_argument(argument, kinds[-1], f"{place}.{key}", problems)


def _check_component(value: Any, kind: Any, place: str, problems: Problems) -> None:
    """Follows AllenNLP's `from_params`, which builds a component of a kind."""
    type_place = f"{place}.type"
    if isinstance(value, str):
        value, type_place = {"type": value}, place
    if not isinstance(value, dict):
        return
    constructor = None
    if kind in Registrable._registry:
        name = value.get("type", getattr(kind, "default_implementation", None))
        if not isinstance(name, str):
            return
        if not_registered(kind, name):
            problems[type_place] = _expected_name(name)
            return
        if name not in Registrable._registry[kind]:
            return  # AllenNLP names those that there are
        kind, constructor = Registrable._registry[kind][name]
    try:
        parameters = infer_constructor_params(kind, getattr(kind, constructor or "__init__"))
    except (TypeError, ValueError):  # a class of another language than Python
        return
    for key, item in value.items():
        annotation = parameters[key].annotation if key in parameters else inspect.Parameter.empty
        _check_argument(item, annotation, f"{place}.{key}", problems)


def _expected_name(name: str) -> str:
    what = "a component that runs no program" if "." not in name else "a registered name"
    return f"expected {what}, got {quote(name)}"


def items_of(value: Any) -> Iterator[Any]:
    """The keys and values of an object, or of a list; of another value none."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)
