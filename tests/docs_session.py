"""A page of the documentation as one session of its reader: in a fresh folder, its blocks one after the other."""

import contextlib
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from filelock import FileLock

from tests.docs_blocks import archives_of, blocks_of, difference
from tests.docs_programs import ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
]
QUICKSTART = "docs/quickstart.md"
SECONDS = 240
"""That a block may take."""


def read_page(name):
    return (ROOT / name).read_text(encoding="utf-8")


class Shared:
    """What the pages of a run of the tests share: the examples, and the models that the quickstart trains."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.makers = {}
        for block in blocks_of(read_page(QUICKSTART)):
            for run in re.findall(r" -s (runs/\w+)", block.text):
                self.makers[run] = block

    def fill(self, name, folder):
        """Puts into the folder what its reader has at the beginning of a page."""
        if name == "CONTRIBUTING.md":
            copy_checkout(folder)
        elif name != "README.md":
            self.copy_examples(folder)
            for run in archives_of(read_page(name)):
                self.copy_run(run, folder)

    def copy_examples(self, folder):
        with FileLock(str(self.folder / "examples.lock")):
            if not (self.folder / "fixtures").exists():
                self.session(self.folder).run_bash("allennlp-nef examples .")
        for name in ("training_configs", "fixtures", "demo"):
            shutil.copytree(str(self.folder / name), str(folder / name))

    def copy_run(self, run, folder):
        """Copies a model, trained if it is not yet; returns what its training printed."""
        name = run.replace("/", "-")
        printed = self.folder / f"{name}.txt"
        with FileLock(str(self.folder / f"{name}.lock")):
            if not printed.exists():
                output = self.session(self.folder).run_bash(self.makers[run].text)
                printed.write_text(output, encoding="utf-8")
        shutil.copytree(str(self.folder / run), str(folder / run))
        return printed.read_text(encoding="utf-8")

    def session(self, folder, name="README.md"):
        folders, root = [str(Path(sys.executable).parent), os.environ["PATH"]], folder
        if name != "CONTRIBUTING.md":
            folders, root = [str(self.programs), *folders], ROOT
        return Session(folder, self, {"PATH": os.pathsep.join(folders), "PYTHONPATH": str(root)})


class Session:
    """Runs blocks in a folder. A context manager: at its end all that it started is gone."""

    def __init__(self, folder, shared, environment):
        self.folder = self.home = folder
        self.shared = shared
        self.environment = {**os.environ, **ENVIRONMENT, **environment}
        self.python = self.errors = None
        self.started = []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = str(listener.getsockname()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.communicate()
        if self.errors:
            self.errors.close()

    def problems(self, page):
        """Runs the blocks of a page; yields, for each whose output is not as expected, its line and the difference."""
        for block in blocks_of(page):
            if block.key == "file":
                path = self.folder / block.value
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            elif block.is_run and not (block.key == "needs" and not is_installed(block.value)):
                got = self.run(block)
                found = difference(block.output, got) if block.output is not None else None
                if found:
                    yield block.line, found

    def run(self, block):
        """Returns what a block prints. `AssertionError` if it does not end as it should."""
        for run, maker in self.shared.makers.items():
            if block.text == maker.text:
                return self.shared.copy_run(run, self.folder)
        try:
            if block.language == "python":
                return self.run_python(block.text)
            if block.key == "background":
                return self.start_bash(block.text)
            return self.run_bash(block.text, int(block.value) if block.key == "fails" else 0)
        except AssertionError as error:
            raise AssertionError(f"line {block.line}: {error}") from None

    def run_bash(self, text, status=0):
        """The next block is run in the folder that this one ends in."""
        place = self.home / ".folder"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{self.with_port(text)}\npwd > '{place}'"],
            cwd=str(self.folder),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        printed, errors = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        assert done.returncode == status, f"status {done.returncode}\n{printed}\n{errors}"
        if status:
            return printed + errors
        self.folder = Path(place.read_text().strip())
        return printed.replace(self.port, "8000")

    def start_bash(self, text):
        """Returns once the program listens at its port."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {self.with_port(text)}"],
            cwd=str(self.folder),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.started.append(process)
        end = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", int(self.port)), timeout=1).close()
                return ""
            assert process.poll() is None and time.monotonic() < end, "it does not listen"
            time.sleep(0.05)

    def run_python(self, text):
        """Blocks of Python share their names."""
        errors = self.home / ".errors"
        if self.python is None:
            self.errors = errors.open("wb")
            self.python = subprocess.Popen(
                ["python"],
                cwd=str(self.folder),
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
            )
            self.started.append(self.python)
        self.python.stdin.write(json.dumps(self.with_port(text)).encode() + b"\n")
        self.python.stdin.flush()
        printed = b""
        while not printed.endswith(b"\0"):
            byte = self.python.stdout.read(1)
            assert byte, errors.read_text(encoding="utf-8")
            printed += byte
        return printed[:-1].decode("utf-8")

    def with_port(self, text):
        return text.replace("8000", self.port)


def is_installed(name):
    return importlib.util.find_spec(name) is not None


def copy_checkout(folder):
    """What the recipes of CONTRIBUTING.md change and use."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("allennlp_nef", "tests", "fixtures", "training_configs"):
        shutil.copytree(str(ROOT / name), str(folder / name), ignore=ignored)
    for path in (*ROOT.glob("*.py"), ROOT / "pyproject.toml"):
        shutil.copy(str(path), str(folder))
