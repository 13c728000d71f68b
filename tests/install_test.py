"""The package's metadata, requirements files, import guard and Makefile."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from allennlp_nef._stack import install_commands
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from allennlp_nef.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def lines_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def requirements_of(name):
    return [Requirement(line) for line in lines_of(name)]


def applies(requirement, python):
    environment = {"python_version": python, "python_full_version": f"{python}.0"}
    return requirement.marker is None or requirement.marker.evaluate(environment)


def declared(python, base=True, extras=()):
    """What pyproject.toml requires on a version of Python."""
    texts = list(PROJECT["dependencies"]) if base else []
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    return [requirement for requirement in map(Requirement, texts) if applies(requirement, python)]


def without_markers(requirements):
    """`name specifier`, each once."""
    return sorted({f"{canonicalize_name(r.name)} {r.specifier}" for r in requirements})


def locked_versions():
    return {
        canonicalize_name(r.name): next(iter(r.specifier)).version
        for r in requirements_of("requirements-lock.txt")
    }


NEEDING_ALLENNLP = [
    "components",
    "data.dataset_readers",
    "data.fields",
    "data.token_indexers",
    "models.tagging",
    "modules.attention",
    "predictors",
    "training",
]


class TestImportGuard:
    @staticmethod
    def import_package(before, *paths, module="allennlp_nef"):
        """Runs `before` and imports the module, without site-packages: `paths` stand for them."""
        code = f"""
import sys
sys.path[:0] = {[str(path) for path in paths] + [str(ROOT)]!r}
{before}
try:
    import {module}
except ImportError as error:
    print(type(error.__cause__).__name__, error, sep="\\n")
"""
        command = [sys.executable, "-S", "-c", code]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout, "the import raised no ImportError"
        cause, message = done.stdout.split("\n", 1)
        return cause, message

    @staticmethod
    def assert_names_commands(message):
        for command in install_commands():
            assert f"\n    {command}\n" in message

    @pytest.mark.parametrize("name", NEEDING_ALLENNLP)
    def test_missing_allennlp_is_reported_with_commands(self, name):
        cause, message = self.import_package("", module=f"allennlp_nef.{name}")
        assert cause == "ModuleNotFoundError"
        assert "No module named 'allennlp'" in message
        self.assert_names_commands(message)

    def test_blocked_allennlp_is_reported_with_commands(self):
        blocked = "sys.modules['allennlp'] = None"
        cause, message = self.import_package(blocked, module="allennlp_nef.components")
        assert cause == "ModuleNotFoundError"
        self.assert_names_commands(message)

    def test_versions_that_do_not_fit_are_reported_with_commands(self, tmp_path):
        package = tmp_path / "allennlp"
        package.mkdir()
        (package / "__init__.py").write_text("raise AttributeError('numpy has no float')\n")
        cause, message = self.import_package("", tmp_path)
        assert cause == "AttributeError"
        assert "(AttributeError: numpy has no float)" in message
        self.assert_names_commands(message)

    def test_commands_of_a_checkout_name_its_folder(self):
        assert install_commands()[0] == f'pip install -e "{ROOT}[serve,plot]"'

    @pytest.mark.parametrize("python", [(3, 8), (3, 10), (3, 11), (3, 13)])
    def test_commands_of_an_installed_package_need_no_files(self, python, tmp_path):
        first, *others = install_commands(python, tmp_path)
        assert first == 'pip install "allennlp_nef[serve,plot]"'
        assert len(others) == (python >= (3, 11))
        for command in others:
            start, pins = command.split(" --no-deps ")
            assert start == "pip install"
            name = ".".join(map(str, python))
            pinned = [r for r in requirements_of("requirements-no-deps.txt") if applies(r, name)]
            assert sorted(pins.split()) == sorted(f"{r.name}{r.specifier}" for r in pinned)


class TestMetadata:
    def test_extras_are_those_that_the_documentation_names(self):
        assert set(PROJECT["optional-dependencies"]) == {
            "serve",
            "plot",
            "align",
            "tokenize",
            "ray",
            "gunicorn",
            "export",
            "fast",
            "structured",
            "trees",
            "docs",
            "dev",
        }
        assert PROJECT["requires-python"] == ">=3.8"

    def test_setup_file_has_no_metadata(self):
        code = (ROOT / "setup.py").read_text(encoding="utf-8").splitlines()
        assert code[2:] == ["from setuptools import setup", "", "setup()"]

    def test_citation_has_the_version_and_the_license(self):
        lines = lines_of("CITATION.cff")
        assert f"version: {VERSION}" in lines
        assert f"license: {PROJECT['license']['text']}" in lines

    @pytest.mark.parametrize(
        ("python", "torch", "numpy", "with_allennlp"),
        [("3.8", "1.12.1", "1.24.4", True), ("3.11", "2.13.0", "2.4.6", False)],
    )
    def test_each_python_gets_its_stack(self, python, torch, numpy, with_allennlp):
        wanted = {r.name: r.specifier for r in declared(python)}
        assert wanted["torch"].contains(torch)
        assert not wanted["torch"].contains("2.13.0" if torch == "1.12.1" else "1.12.1")
        assert wanted["numpy"].contains(numpy)
        assert ("allennlp" in wanted) == with_allennlp

    def test_locked_versions_are_in_range(self):
        locked = locked_versions()
        wanted = declared(
            "3.11", extras=set(PROJECT["optional-dependencies"]) - {"align", "structured"}
        )
        for requirement in wanted:
            version = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), requirement


class TestRequirementsFiles:
    @pytest.mark.parametrize(
        ("name", "python", "base", "extras"),
        [
            ("requirements.txt", "3.11", True, ("serve", "plot")),
            (
                "requirements-dev.txt",
                "3.11",
                False,
                ("dev", "docs", "tokenize", "ray", "gunicorn", "export", "fast", "trees"),
            ),
            ("requirements-legacy.txt", "3.8", True, ("serve", "plot", "dev")),
            ("requirements-legacy.txt", "3.10", True, ("serve", "plot", "dev")),
        ],
    )
    def test_file_has_the_ranges_of_pyproject(self, name, python, base, extras):
        written = without_markers(requirements_of(name))
        assert written == without_markers(declared(python, base, extras))

    def test_lock_holds_only_exact_public_versions(self):
        for line in lines_of("requirements-lock.txt"):
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line

    def test_packages_without_dependencies_are_pinned_and_nowhere_else(self):
        pinned = requirements_of("requirements-no-deps.txt")
        assert all([s.operator for s in r.specifier] == ["=="] for r in pinned)
        names = {r.name for r in pinned}
        for name in ("requirements.txt", "requirements-dev.txt", "requirements-lock.txt"):
            assert not names & {r.name for r in requirements_of(name)}

    @pytest.mark.parametrize("python", ["3.11", "3.12"])
    def test_one_torchvision_for_each_python(self, python):
        pinned = requirements_of("requirements-no-deps.txt")
        assert len([r for r in pinned if r.name == "torchvision" and applies(r, python)]) == 1

    def test_plugin_file_names_the_package(self):
        assert lines_of(".allennlp_plugins") == ["allennlp_nef"]


class TestUv:
    group = [Requirement(text) for text in PYPROJECT["dependency-groups"]["allennlp"]]
    overrides = [Requirement(text) for text in PYPROJECT["tool"]["uv"]["override-dependencies"]]
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")

    def test_group_has_the_packages_of_requirements_no_deps(self):
        pinned = requirements_of("requirements-no-deps.txt")
        group = {str(r) for r in self.group}
        assert group == {*map(str, pinned), "allennlp_nef[plot,serve]"}

    def test_overrides_are_the_ranges_of_the_project(self):
        """One that applies to no Python leaves the package out."""
        used = [r for r in self.overrides if str(r.marker) != 'python_version < "3"']
        ranges = {str(r) for r in self.group} | {
            f"{canonicalize_name(r.name)}{r.specifier}" for r in declared("3.11")
        }
        assert used and {str(r) for r in used} <= ranges

    def test_lock_has_only_the_public_index(self):
        hosts = set(re.findall(r"\w+://[^/\"]+", self.lock))
        assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}
        assert set(re.findall(r"source = \{ (\w+) =", self.lock)) == {"registry", "editable"}

    def test_lock_has_the_pinned_versions(self):
        locked = set(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', self.lock, re.MULTILINE))
        for requirement in [
            *requirements_of("requirements-no-deps.txt"),
            Requirement("torch==2.13.0"),
        ]:
            (pin,) = requirement.specifier
            assert (requirement.name, pin.version) in locked


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
class TestMakefile:
    @staticmethod
    def make(*arguments):
        done = subprocess.run(
            ["make", *arguments],
            cwd=str(ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={name: value for name, value in os.environ.items() if name[:4] != "MAKE"},
            check=False,
        )
        return done.returncode, done.stdout

    @pytest.mark.parametrize(
        ("target", "variable", "folder"),
        [("install", "PYTHON", "VENV"), ("test-legacy", "LEGACY_PYTHON", "LEGACY_VENV")],
    )
    def test_missing_python_is_an_error(self, target, variable, folder, tmp_path):
        code, output = self.make(target, f"{variable}=python0.0", f"{folder}={tmp_path / 'new'}")
        assert code != 0
        assert "python0.0 cannot make a virtual environment" in output
        assert f"{variable}=<python>" in output
        assert not (tmp_path / "new").exists()

    def test_folder_that_is_no_environment_is_left_alone(self, tmp_path):
        (tmp_path / "kept").write_text("kept")
        code, output = self.make("install", f"PYTHON={sys.executable}", f"VENV={tmp_path}")
        assert code != 0
        assert "Name another folder with VENV=<folder>" in output
        assert [path.name for path in tmp_path.iterdir()] == ["kept"]

    def test_train_runs_the_command_of_the_readme(self, tmp_path):
        new = tmp_path / "folder with spaces"
        code, output = self.make("-n", "train", f"PYTHON={sys.executable}", f"VENV={new}")
        assert code == 0, output
        command = (
            "allennlp train training_configs/qe_nef_f.jsonnet --include-package allennlp_nef"
            " -s runs/qe_nef_f"
        )
        assert command in output.splitlines() or command + " -f" in output.splitlines()

    def test_tests_end_with_their_time(self, tmp_path):
        code, output = self.make(
            "-n", "test", f"PYTHON={sys.executable}", f"VENV={tmp_path / 'new'}"
        )
        assert code == 0, output
        assert 'echo "make test took' in output.splitlines()[-1]
