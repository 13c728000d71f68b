"""The documentation: blocks run and print what the pages say; links, configs and commands exist.

The blocks of a page run as one session, in a folder with the example configs and data. A `text` block that follows a
block holds its output; `...` stands for any text, and numbers may differ by 5%. A comment `<!-- not run: reason -->`
precedes a block that is not run. A comment `<!-- setup: commands -->` holds what a reader has done before.
"""

import os
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.examples import write_examples

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md"))
)
ALLENNLP_COMMANDS = (
    *("build-vocab", "count-instances", "diff", "evaluate", "find-lr", "predict"),
    *("print-results", "push-to-hf", "serve", "test-install", "train"),
)
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: .+? -->\n\Z", re.S)
SETUP = re.compile(r"<!-- setup: (.+?) -->", re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
SECONDS = 1200  # for all blocks of a page


class Block(NamedTuple):
    """A block that is run."""

    language: str
    text: str
    line: int
    output: str | None
    """What it prints, if the page says so."""


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page):
    """The blocks of a page that are run, with their outputs."""
    blocks, end = [], -1  # where the last block ends, if it is run
    for match in BLOCK.finditer(page):
        language, text = match["language"], match["text"]
        if language == "text" and end >= 0 and not page[end : match.start()].strip():
            blocks[-1] = blocks[-1]._replace(output=text)
        elif language in ("bash", "python") and not NOT_RUN.search(page, 0, match.start()):
            line = page.count("\n", 0, match.start()) + 1
            blocks.append(Block(language, text, line, None))
            end = match.end()
            continue
        end = -1
    return blocks


def script_of(setup, blocks, folder, port):
    """A bash script that runs the blocks and writes the standard output of each into a file."""
    lines = ["set -euo pipefail", "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"]
    lines += setup
    for number, block in enumerate(blocks):
        text = block.text.replace("8000", str(port))
        if block.language == "python":
            text = f"python - <<'END_OF_BLOCK'\n{text}END_OF_BLOCK\n"
        lines.append(f"echo line {block.line} >&2")
        lines.append(f"{{\n{text}}} > '{folder}/{number}.out'")
    return "\n".join(lines)


def run(page, folder):
    """Runs the blocks of a page. Returns the blocks, and what each printed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    home, outputs = folder / "home", folder / "outputs"
    outputs.mkdir()
    write_examples(str(home))
    text = read(page)
    blocks = blocks_of(text)
    script = folder / "page.sh"
    script.write_text(script_of(SETUP.findall(text), blocks, outputs, port), encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "TQDM_DISABLE": "1",
        "PYTHONIOENCODING": "utf-8",
        "ALLENNLP_LOG_LEVEL": "WARNING",
    }
    done = subprocess.run(
        ["bash", str(script)],
        cwd=str(home),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    printed = [
        path.read_text(encoding="utf-8").replace(str(port), "8000") if path.exists() else ""
        for path in (outputs / f"{number}.out" for number in range(len(blocks)))
    ]
    assert done.returncode == 0, f"{page}\n{done.stderr.decode('utf-8')[-5000:]}\n{printed}"
    return blocks, printed


def is_like(expected, got):
    """Whether an output is as a page says. Whole numbers below 20 are the same."""
    parts, numbers = [], []
    for token in re.findall(rf"\s*\.\.\.\s*|\s+|{NUMBER.pattern}|.", expected.strip()):
        if token.strip() == "...":
            parts.append(".*?")
        elif NUMBER.fullmatch(token) and not re.fullmatch("1?[0-9]", token):
            parts.append(rf"({NUMBER.pattern})")
            numbers.append(float(token))
        else:
            parts.append(r"\s+" if token.isspace() else re.escape(token))
    match = re.fullmatch("".join(parts), got.strip(), re.S)
    return match is not None and all(
        abs(float(value) - number) <= 0.05 * max(1, abs(number))
        for value, number in zip(match.groups(), numbers)
    )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if page == "README.md" else pytest.mark.slow)
        for page in PAGES
        if page != "CONTRIBUTING.md"  # its blocks change the checkout
    ],
)
def test_blocks_run_and_print_what_the_page_says(page, tmp_path):
    for block, got in zip(*run(page, tmp_path)):
        if block.output is not None:
            assert is_like(block.output, got), f"{page}:{block.line}: got\n{got}"


@pytest.mark.parametrize(
    ("expected", "got", "answer"),
    [
        ("a  b\n", "a b", True),
        ("F1 0.97", "F1 0.99", True),
        ("F1 0.90", "F1 0.98", False),
        ("...\nEpoch 4\n...", "Epoch 1\nEpoch 4", True),
        ("B-PER", "I-PER", False),
        ("[0, 5]", "[0, 6]", False),
    ],
)
def test_outputs_that_count_as_alike(expected, got, answer):
    assert is_like(expected, got) == answer


def anchors_of(path):
    """The anchors of the headings of a page, as GitHub and mkdocs make them."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = BLOCK.sub("", read(page))
    for link in re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text):
        target, _, anchor = "".join(link).partition("#")
        if "://" in target:
            continue
        path = ((ROOT / page).parent / target).resolve() if target else ROOT / page
        assert path.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors_of(path), f"{page}: {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES)
def test_configs_and_commands_exist(page):
    text = read(page)
    for path in re.findall(
        r"\b(?:training_configs|benchmarks|recipes|fixtures)/[\w./-]*\w\.\w+", text
    ):
        is_saved = f"> {path}" in text  # by a block
        assert is_saved or any(ROOT.glob(f"{path}*")), f"{page}: {path}"
    names = {
        path.stem
        for folder in ("training_configs", "benchmarks/configs")
        for path in (ROOT / folder).glob("*.jsonnet")
    }
    for name in re.findall(r"`((?:ner|pos|qe|parse|trec|sst|sick)_[a-z0-9_]+)`", text):
        assert name in names, f"{page}: {name}"
    for command in re.findall(r"^\s*allennlp(?:-nef)? ([a-z][\w-]*)", text, re.M):
        assert command in (*COMMANDS, *ALLENNLP_COMMANDS), f"{page}: {command}"


@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "reference.html").read_text(encoding="utf-8")
    assert 'Registered as a <code>Model</code> with name "nef_tagger"' in text


def test_every_picture_is_used():
    text = "".join(map(read, PAGES))
    assert [path.name for path in (DOCS / "pictures").iterdir() if path.name not in text] == []


def test_reference_has_every_module_that_registers_components():
    sections = runpy.run_path(str(DOCS / "site_pages.py"))["REFERENCE"]
    listed = {name for names in sections.values() for name in names}
    for path in (ROOT / "allennlp_nef").rglob("*.py"):
        if re.search(r"^@\w+\.register\(", path.read_text(encoding="utf-8"), re.M):
            parts = path.relative_to(ROOT / "allennlp_nef").with_suffix("").parts
            assert ".".join(parts) in listed


def test_readme_fits_on_two_screens():
    assert len(read("README.md").splitlines()) <= 110
