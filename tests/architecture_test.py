"""Imports go one way, only some packages know the tasks, and docs/architecture.md names what exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "allennlp_nef"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
# The level of each package, from the table on the page. A package imports itself and packages of lower levels.
LEVELS = {name: int(level) for level, name in re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.M)}
TASKS = {"qe", "tasks"}
KNOW_TASKS = {"cli", "exporting", "components"}
WITHOUT_ALLENNLP = {"errors", "version", "nn", "resources", "figures"}
MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


def package_of(name):
    return name.split(".")[1] if "." in name else ""


def imports_of(source):
    """The dotted names that a module imports, anywhere in its code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(package, source):
    """The imports of a module that its package must not have."""
    for name in imports_of(source):
        root, other = name.split(".")[0], package_of(name)
        if root == "allennlp" and package in WITHOUT_ALLENNLP:
            yield name
        if root != PACKAGE or other == package or other not in LEVELS:
            continue
        if LEVELS[other] >= LEVELS[package] or (other in TASKS and package not in KNOW_TASKS):
            yield name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_imports_only_what_its_package_may(path):
    parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
    if parts == ("__init__",):
        return  # it registers the components, and has `load`
    assert parts[0] in LEVELS
    assert list(violations(parts[0], path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("models", "from allennlp_nef.qe.reader import WmtWordQeReader"),
        ("corpora", "from allennlp_nef.tasks.sentence_pairs import SentencePair"),
        ("data", "import allennlp_nef.models.nef_tagger"),
        ("nn", "from allennlp.common import Params"),
    ],
)
def test_import_in_the_wrong_direction_is_found(package, source):
    assert list(violations(package, source))


def test_names_on_the_page_exist():
    source = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    for name in re.findall(r"`([\w./]+)(?:\(\))?`", PAGE):
        is_path = (ROOT / PACKAGE / name).exists() or (ROOT / name).exists()
        assert is_path or all(re.search(rf"\b{part}\b", source) for part in name.split(".")), name
