"""The layers of the package: imports flow one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "allennlp_nef"
# A subpackage, or a module beside them, imports itself and lower layers; never others in its layer or what is above.
LAYERS = [
    {
        "nn",
        "errors",
        "packages",
        "pretrained",
        "resources",
        "saved_versions",
        "tensor_files",
        "version",
    },
    {"compat", "figures"},
    {"data", "modules", "metrics"},
    {"models"},
    {"predictors", "training"},
    {"calibration", "corpora", "exporting", "serving"},
    {"bulk", "components"},
    {"cli"},
]
RANKS = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# Every module may import these, and they import nothing of the package.
LOWEST = [f"{PACKAGE}.{name}" for name in ("errors", "tensor_files", "version")]
# They import neither AllenNLP nor anything of the package but themselves and those above; all else may import them.
INDEPENDENT = [
    *LOWEST,
    *(f"{PACKAGE}.{name}" for name in ("nn", "saved_versions")),
    *(
        f"{PACKAGE}.data.{name}"
        for name in ("formats", "affixes", "piece_layouts", "word_similarity")
    ),
]
MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source, package):
    """The dotted names that a module of `package` imports, wherever in its code."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            names += [f"{base}.{alias.name}" for alias in node.names]
    return names


def is_within(name, package):
    return name == package or name.startswith(package + ".")


def subpackage_of(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else None


def violations(module, source, package=None):
    """What the module imports against the rules."""
    own = subpackage_of(module)
    wrong = []
    for name in imports_of(source, package or module.rpartition(".")[0]):
        for independent in INDEPENDENT:
            if is_within(module, independent):
                allowed = any(is_within(name, each) for each in (independent, *LOWEST))
                foreign = is_within(name, PACKAGE) and not allowed
                if foreign or is_within(name, "allennlp"):
                    wrong.append(name)
        if is_within(name, PACKAGE) and not any(is_within(name, lowest) for lowest in INDEPENDENT):
            other = subpackage_of(name)
            if other != own and RANKS.get(other, len(LAYERS)) >= RANKS[own]:
                wrong.append(name)
    return wrong


LAYERED = [path for path in MODULES if path != ROOT / PACKAGE / "__init__.py"]


def violations_of(path):
    module = name_of(path)
    package = module if path.name == "__init__.py" else None
    return violations(module, path.read_text(encoding="utf-8"), package)


def test_every_subpackage_has_a_layer():
    assert {subpackage_of(name_of(path)) for path in LAYERED} <= set(RANKS)


def test_imports_flow_one_way():
    found = {name_of(path): violations_of(path) for path in LAYERED}
    assert {module: names for module, names in found.items() if names} == {}


def test_no_module_imports_itself_by_way_of_others():
    """Not even for types."""
    names = {name_of(path): path for path in MODULES}

    def module_of(name):
        return name if name in names or "." not in name else module_of(name.rpartition(".")[0])

    graph = {}
    for name, path in names.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imported = map(module_of, imports_of(path.read_text(encoding="utf-8"), package))
        graph[name] = {other for other in imported if other in names} - {name}
    TopologicalSorter(graph).prepare()  # raises a CycleError, which names the modules


@pytest.mark.parametrize(
    "module, source, is_right",
    [
        ("nn.a", "import torch", True),
        ("nn.a", "from allennlp_nef.nn.b import c", True),
        ("nn.a", "import allennlp", False),
        ("nn.a", "from allennlp.common import Params", False),
        ("nn.a", "def f():\n    from allennlp_nef.data import x", False),
        ("nn.a", "from .. import models", False),
        ("nn.a", "from . import b", True),
        ("nn.a", "from allennlp_nef.errors import E", True),
        ("data.formats.a", "from allennlp_nef.errors import E", True),
        ("cli.a", "from allennlp_nef.errors import E", True),
        ("errors", "from typing import Any", True),
        ("errors", "from allennlp_nef.data.formats.chunks import c", False),
        ("errors", "import allennlp", False),
        ("data.formats.a", "from allennlp_nef.data.fields import F", False),
        ("data.formats.a", "from ..fields import F", False),
        ("data.formats.a", "from allennlp.data import Token", False),
        ("data.fields", "from allennlp.data import Token", True),
        ("nn.a", "from allennlp_nef.data.formats import b", False),
        ("modules.a.b", "from allennlp_nef.nn import c", True),
        ("modules.a.b", "from allennlp_nef.data.formats.c import d", True),
        ("modules.a.b", "from allennlp_nef.data.affixes import c", True),
        ("data.affixes", "from allennlp.data import Token", False),
        ("modules.a.b", "from allennlp_nef.data.metadata import c", False),
        ("modules.a.b", "from allennlp_nef import models", False),
        ("modules.a.b", "import allennlp_nef.predictors.word_qe", False),
        ("modules.a.b", "import allennlp_nef", False),
        ("modules.a", "from allennlp_nef.figures.b import c", True),
        ("figures.a", "from allennlp_nef.modules import b", False),
        ("metrics.a", "from allennlp_nef.modules import b", False),
        ("models.a", "from allennlp_nef.data.metadata import b", True),
        ("models.a", "from allennlp_nef.cli import b", False),
        ("predictors.a", "from allennlp_nef.models import b", True),
        ("predictors.a", "from allennlp_nef.cli import b", False),
        ("cli.a", "from allennlp_nef.predictors.b import c", True),
        ("cli.a", "from allennlp_nef.training import b", True),
    ],
)
def test_a_violation_is_found(module, source, is_right):
    assert bool(violations(f"{PACKAGE}.{module}", source)) is not is_right
