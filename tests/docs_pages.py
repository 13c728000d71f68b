"""A page of the documentation as one session of its reader: in a fresh folder, its blocks one after the other.

CONTRIBUTING.md states the rules.
"""

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
from typing import NamedTuple

from filelock import FileLock

from tests.docs_programs import ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]
MAKERS = "docs/tutorial.md"
"""The page that trains the models which other pages use."""
SECONDS = 240
"""That a block may take."""
RUN = ("bash", "python")
FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMENT = re.compile(
    r"<!-- (?P<key>not run|file|fails|needs|background)(: (?P<value>(?:(?!-->).)+))? -->\n\Z", re.S
)
USES = re.compile(r"<!-- uses: (.+?) -->")
TOKEN = re.compile(r"\.\.\.|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\s+|\S")
TOLERANCE = 0.05
"""Of a number: relative above 1, absolute below. So whole numbers below 20 have to be the same."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Of its first line, from 1."""
    key: str | None
    """What the comment before it begins with."""
    value: str | None
    """What stands after the colon of the comment."""
    output: str | None = None
    """What it prints, where a `text` block says so."""

    @property
    def is_run(self):
        return self.language in RUN and self.key not in ("not run", "file")


def read_page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks_of(page):
    """The blocks of a page; `text` blocks as outputs of those before."""
    blocks = []
    for match in FENCE.finditer(page):
        language, text = match["language"], match["text"]
        line = page.count("\n", 0, match.start()) + 2
        comment = COMMENT.search(page, 0, match.start())
        key, value = (comment["key"], comment["value"]) if comment else (None, None)
        if language == "text":
            last = blocks[-1] if blocks else None
            if not last or not last.is_run or last.key == "background" or last.output is not None:
                raise ValueError(f"line {line}: expected a block that is run before this output")
            blocks[-1] = last._replace(output=text)
        elif key not in (None, "background") and not value:
            raise ValueError(f"line {line}: expected <!-- {key}: ... -->")
        else:
            blocks.append(Block(language, text, line, key, value))
    if len(re.findall(r"^```", page, re.M)) != 2 * len(FENCE.findall(page)):
        raise ValueError("expected that each block is closed")
    return blocks


def runs_of(page):
    """The models of the page `MAKERS` that a page uses."""
    return [run for runs in USES.findall(page) for run in runs.split()]


def difference(expected, got):
    """How an output is not as expected; None where it is.

    Words are the same, and numbers up to `TOLERANCE`. `...` stands for any text. Blanks and line breaks are one thing,
    however many.
    """
    wanted, came = TOKEN.findall(expected.strip()), TOKEN.findall(got.strip())
    i = j = end = 0
    hole = -1  # the last `...` before i; it stands for the text up to `end`
    while j < len(came):
        if i < len(wanted) and wanted[i] == "...":
            hole, end = i, j
            i += 1
        elif i < len(wanted) and is_same(wanted[i], came[j]):
            i, j = i + 1, j + 1
        elif hole >= 0:
            end += 1
            i, j = hole + 1, end
        else:
            break
    if j == len(came) and all(token == "..." for token in wanted[i:]):
        return None
    return f"expected\n\n{expected.strip()}\n\ngot\n\n{got.strip()}"


def is_same(wanted, came):
    """Of two tokens."""
    try:
        return abs(float(wanted) - float(came)) <= TOLERANCE * max(1, abs(float(wanted)))
    except ValueError:
        return wanted == came or (wanted.isspace() and came.isspace())


class Shared:
    """What the pages share: the examples, and the models that the page `MAKERS` trains."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        used = {run for name in PAGES for run in runs_of(read_page(name))}
        self.makers = {}
        for block in blocks_of(read_page(MAKERS)):
            for run in used.intersection(re.findall(r" -s (runs/\w+)", block.text)):
                self.makers[run] = block

    def fill(self, name, folder):
        """Puts into the folder what its reader has at the beginning of a page."""
        if name == "CONTRIBUTING.md":
            copy_checkout(folder)
        elif name != "README.md":
            self.write_examples()
            for part in ("training_configs", "fixtures", "demo"):
                shutil.copytree(str(self.folder / part), str(folder / part))
            for run in runs_of(read_page(name)):
                Session(self, folder).run_bash(self.copy_of(run))

    def write_examples(self):
        with FileLock(str(self.folder / "examples.lock")):
            if not (self.folder / "fixtures").exists():
                Session(self, self.folder).run_bash("allennlp-nef examples .")

    def copy_of(self, run):
        """The commands that copy a model and print what its training printed. It is trained if it is not yet."""
        self.write_examples()
        name = run.replace("/", "-")
        printed = self.folder / f"{name}.txt"
        with FileLock(str(self.folder / f"{name}.lock")):
            if not printed.exists():
                output = Session(self, self.folder).run_bash(self.makers[run].text)
                printed.write_text(output, encoding="utf-8")
        return f"mkdir -p runs\ncp -r '{self.folder / run}' {run}\ncat '{printed}'\n"


class Session:
    """Runs blocks in a folder. A context manager: at its end all that it started is gone."""

    def __init__(self, shared, folder, name="README.md"):
        self.shared, self.folder, self.home = shared, folder, folder
        self.python = self.errors = None
        self.started = []
        programs, root = [str(Path(sys.executable).parent), os.environ["PATH"]], folder
        if name != "CONTRIBUTING.md":
            programs, root = [str(shared.programs), *programs], ROOT
        paths = {"PATH": os.pathsep.join(programs), "PYTHONPATH": str(root)}
        self.environment = {**os.environ, **ENVIRONMENT, **paths}
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
            elif block.is_run and not (
                block.key == "needs" and importlib.util.find_spec(block.value) is None
            ):
                got = self.run(block)
                problem = None if block.output is None else difference(block.output, got)
                if problem:
                    yield block.line, problem

    def run(self, block):
        """Returns what a block prints. `AssertionError` if it does not end as it should."""
        for run, maker in self.shared.makers.items():
            if maker.text in block.text:
                block = block._replace(
                    text=block.text.replace(maker.text, self.shared.copy_of(run))
                )
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


def copy_checkout(folder):
    """What the recipes of CONTRIBUTING.md change and use."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("allennlp_nef", "tests", "fixtures", "training_configs"):
        shutil.copytree(str(ROOT / name), str(folder / name), ignore=ignored)
    for path in (*ROOT.glob("*.py"), ROOT / "pyproject.toml"):
        shutil.copy(str(path), str(folder))
