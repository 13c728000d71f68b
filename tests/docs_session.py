"""A page of the documentation as one session of its reader: in a fresh folder, its blocks one after the other."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from filelock import FileLock

from tests.docs_blocks import archives_of, blocks_of, difference

ROOT = ROOT_PACKAGE = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
SECONDS = 120
"""That a block may take."""
QUIET = {
    "PYTHONIOENCODING": "utf-8",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "TQDM_DISABLE": "1",
}


def read_page(name):
    return (ROOT / name).read_text(encoding="utf-8")


class Shared:
    """What the pages of a run of the tests share: the examples, and the models that docs/quickstart.md trains."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.makers = {}
        for block in blocks_of(read_page("docs/quickstart.md")):
            for run in re.findall(r" -s (runs/\w+)", block.text):
                self.makers[run] = block

    def run_of(self, text):
        """The model that the text of a block trains, if it is one of these."""
        return next((run for run, block in self.makers.items() if block.text == text), None)

    def copy(self, run, folder):
        """Puts a model into a folder, trained if it is not yet; what its training printed."""
        made, lock = self.folder / run, self.folder / f"{run.replace('/', '-')}.lock"
        printed = self.folder / f"{run.replace('/', '-')}.txt"
        with FileLock(str(lock)):
            if not printed.exists():
                with Session(self.folder, self, read_page("docs/quickstart.md")) as session:
                    output = session.run_bash(self.makers[run].text)
                printed.write_text(output, encoding="utf-8")
        shutil.copytree(str(made), str(folder / run), dirs_exist_ok=True)
        return printed.read_text(encoding="utf-8")

    def examples(self, folder):
        """Fills a folder as `allennlp-nef examples` does."""
        with FileLock(str(self.folder / "examples.lock")):
            if not (self.folder / "fixtures").exists():
                with Session(self.folder, self, "") as session:
                    session.run_bash("allennlp-nef examples .")
        for name in ("training_configs", "fixtures", "demo"):
            shutil.copytree(str(self.folder / name), str(folder / name))


class Session:
    """Runs the blocks of a page. A context manager: at its end all that it started is gone."""

    def __init__(self, folder, shared, page):
        self.folder = self.home = folder
        self.shared, self.page = shared, page
        self.python = self.errors = None
        self.started = []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = str(listener.getsockname()[1])
        path = os.pathsep.join([str(shared.programs), os.environ["PATH"]])
        self.environment = {**os.environ, **QUIET, "PATH": path, "PYTHONPATH": str(ROOT_PACKAGE)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
            process.communicate()
        if self.errors:
            self.errors.close()

    def problems(self):
        """Runs all blocks; yields, for each whose output is not as expected, its line and how it differs."""
        for run in archives_of(self.page):
            self.shared.copy(run, self.folder)
        for block in blocks_of(self.page):
            if block.key == "not run":
                continue
            if block.key == "file":
                path = self.folder / block.value
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
                continue
            if block.language not in ("bash", "python"):
                continue
            got = self.run(block)
            found = difference(block.output, got) if block.output is not None else None
            if found:
                yield block.line, found

    def run(self, block):
        """What a block prints. `AssertionError` if it does not end as it says."""
        run = self.shared.run_of(block.text)
        if run:
            return self.shared.copy(run, self.folder)
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
            ["bash", "-euo", "pipefail", "-c", f"{self.ported(text)}\npwd > '{place}'"],
            cwd=str(self.folder),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        printed, errors = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        assert done.returncode == status, f"status {done.returncode}\n{printed}\n{errors}"
        printed = (printed + errors if status else printed).replace(self.port, "8000")
        if status == 0:
            self.folder = Path(place.read_text().strip())
        return printed

    def start_bash(self, text):
        """Returns once the program listens at its port."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {self.ported(text)}"],
            cwd=str(self.folder),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
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
        if self.python is None:
            self.errors = (self.home / ".errors").open("w+b")
            self.python = subprocess.Popen(
                ["python"],
                cwd=str(self.folder),
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
            )
            self.started.append(self.python)
        self.python.stdin.write(json.dumps(self.ported(text)).encode() + b"\n")
        self.python.stdin.flush()
        printed = b""
        while not printed.endswith(b"\0"):
            byte = self.python.stdout.read(1)
            assert byte, (self.home / ".errors").read_text(encoding="utf-8")
            printed += byte
        return printed[:-1].decode("utf-8")

    def ported(self, text):
        """The text with a free port."""
        return text.replace("8000", self.port)
