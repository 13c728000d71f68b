"""The package's metadata, requirements files, import guard and Makefile."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from allennlp_nef._stack import install_commands

ROOT = Path(__file__).resolve().parent.parent


def lines_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def requirements_of(name):
    return [Requirement(line) for line in lines_of(name)]


def applies(requirement, python, extra=""):
    environment = {"python_version": python, "extra": extra}
    return requirement.marker is None or requirement.marker.evaluate(environment)


class TestImportGuard:
    @staticmethod
    def import_package(before, *paths):
        """Runs `before` and imports the package, without site-packages: `paths` stand for them."""
        code = f"""
import sys
sys.path[:0] = {[str(path) for path in paths] + [str(ROOT)]!r}
{before}
try:
    import allennlp_nef
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

    def test_missing(self):
        cause, message = self.import_package("")
        assert cause == "ModuleNotFoundError"
        assert "No module named 'allennlp'" in message
        self.assert_names_commands(message)

    def test_blocked(self):
        cause, message = self.import_package("sys.modules['allennlp'] = None")
        assert cause == "ModuleNotFoundError"
        self.assert_names_commands(message)

    def test_versions_that_do_not_fit(self, tmp_path):
        package = tmp_path / "allennlp"
        package.mkdir()
        (package / "__init__.py").write_text("raise AttributeError('numpy has no float')\n")
        cause, message = self.import_package("", tmp_path)
        assert cause == "AttributeError"
        assert "(AttributeError: numpy has no float)" in message
        self.assert_names_commands(message)

    @pytest.mark.parametrize("python", [(3, 8), (3, 10), (3, 11), (3, 13)])
    def test_commands_name_files_of_the_checkout(self, python):
        commands = install_commands(python)
        files = re.findall(r"-r (\S+)", " ".join(commands))
        assert files and all((ROOT / name).is_file() for name in files)
        assert ("requirements-legacy.txt" in files) == (python < (3, 11))


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    source = tmp_path_factory.mktemp("source")
    for name in ("setup.py", "pyproject.toml", "LICENSE"):
        shutil.copy(str(ROOT / name), str(source))
    (source / "allennlp_nef").mkdir()
    (source / "allennlp_nef" / "__init__.py").touch()
    code = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('.')"
    subprocess.run([sys.executable, "-c", code], cwd=str(source), check=True)
    (path,) = source.glob("*.dist-info/METADATA")
    return message_from_string(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def declared(metadata):
    return [Requirement(text) for text in metadata.get_all("Requires-Dist")]


class TestMetadata:
    def test_identity(self, metadata):
        assert metadata["Name"].replace("-", "_") == "allennlp_nef"
        assert metadata["Version"] == "0.1.0"
        assert metadata["Requires-Python"] == ">=3.8"
        assert set(metadata.get_all("Provides-Extra")) == {"serve", "plot", "dev"}

    @pytest.mark.parametrize(
        ("python", "torch", "numpy", "with_allennlp"),
        [("3.8", "1.12.1", "1.24.4", True), ("3.11", "2.13.0", "2.4.6", False)],
    )
    def test_each_python_gets_its_stack(self, declared, python, torch, numpy, with_allennlp):
        wanted = {r.name: r.specifier for r in declared if applies(r, python)}
        assert wanted["torch"].contains(torch)
        assert not wanted["torch"].contains("2.13.0" if torch == "1.12.1" else "1.12.1")
        assert wanted["numpy"].contains(numpy)
        assert ("allennlp" in wanted) == with_allennlp

    @pytest.mark.parametrize("extra", ["", "serve", "plot", "dev"])
    def test_locked_versions_satisfy_it(self, declared, extra):
        locked = {r.name.lower(): r for r in requirements_of("requirements-lock.txt")}
        wanted = [r for r in declared if applies(r, "3.11", extra)]
        assert wanted
        for requirement in wanted:
            (version,) = locked[requirement.name.lower()].specifier
            assert requirement.specifier.contains(version.version), requirement


def test_the_page_is_installed_with_the_package(tmp_path):
    """Its files are those of demo/, which `allennlp plot-sketches --html` needs."""
    for name in ("setup.py", "pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(str(ROOT / name), str(tmp_path))
    for name in ("allennlp_nef", "demo"):
        shutil.copytree(str(ROOT / name), str(tmp_path / name), symlinks=True)
    code = "from setuptools import build_meta; print(build_meta.build_wheel('.'))"
    subprocess.run([sys.executable, "-c", code], cwd=str(tmp_path), check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(str(wheel)) as archive:
        installed = {
            name: archive.read(name)
            for name in archive.namelist()
            if name.startswith("allennlp_nef/demo/")
        }
    files = [path for path in (ROOT / "demo").iterdir() if path.is_file()]
    assert {"replay.js", "style.css"} <= {path.name for path in files}
    assert installed == {f"allennlp_nef/demo/{path.name}": path.read_bytes() for path in files}


class TestRequirementsFiles:
    @pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
    def test_locked_versions_are_in_range(self, name):
        locked = {
            r.name.lower().replace("_", "-"): r for r in requirements_of("requirements-lock.txt")
        }
        for requirement in requirements_of(name):
            (version,) = locked[requirement.name.lower().replace("_", "-")].specifier
            assert requirement.specifier.contains(version.version), requirement

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
    def test_python_that_is_not_there(self, target, variable, folder, tmp_path):
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
