"""Imports flow one way between the rooms of the package, and only some rooms know quality estimation."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "allennlp_nef"
# A room imports itself and rooms in the rows above it.
ROWS = [
    ["errors", "version"],
    ["compat", "nn", "resources"],
    ["data", "figures"],
    ["metrics", "modules"],
    ["models"],
    ["predictors", "training"],
    ["qe"],
    ["corpora", "exporting", "serving"],
    ["cli"],
    ["__main__", "components"],
]
RANKS = {room: rank for rank, row in enumerate(ROWS) for room in row}
KNOW_QE = {"qe", "cli", "corpora", "exporting", "components"}
WITHOUT_ALLENNLP = {"errors", "version", "nn", "resources", "figures"}
MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


def room_of(name):
    return name.split(".")[1] if "." in name else ""


def imports_of(source):
    """The dotted names that a module imports, anywhere in its code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(room, source):
    """The imports of a module that its room may not have."""
    for name in imports_of(source):
        package, other = name.split(".")[0], room_of(name)
        if package == "allennlp" and room in WITHOUT_ALLENNLP:
            yield name
        if package != PACKAGE or other == room or other not in RANKS:
            continue
        if RANKS[other] >= RANKS[room] or (other == "qe" and room not in KNOW_QE):
            yield name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_what_its_room_may(path):
    parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return  # it registers the components, and has `load`
    assert parts[0] in RANKS
    assert list(violations(parts[0], path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("models", "from allennlp_nef.qe.reader import WmtWordQeReader"),
        ("data", "import allennlp_nef.models.nef_tagger"),
        ("nn", "from allennlp.common import Params"),
    ],
)
def test_import_that_flows_the_wrong_way_is_found(room, source):
    assert list(violations(room, source))
