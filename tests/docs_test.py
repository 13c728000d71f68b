"""README.md, CONTRIBUTING.md and docs/: every block runs and prints what the page says, links hold."""

import importlib.util
import re

import pytest

from tests.docs_pages import PAGES, ROOT, Session, Shared, blocks_of, difference, read_page


@pytest.fixture(scope="session")
def shared(shared_folder, programs):
    folder = shared_folder / "docs"
    folder.mkdir(exist_ok=True)
    return Shared(folder, programs)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_run_and_print_what_the_page_says(name, shared, tmp_path):
    shared.fill(name, tmp_path)
    with Session(shared, tmp_path, name) as session:
        found = [f"{name}:{line}: {text}" for line, text in session.problems(read_page(name))]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_the_text_names_each_file_that_its_reader_saves(name):
    page = read_page(name)
    for block in blocks_of(page):
        if block.key == "file":
            before = "\n".join(page.split("\n")[: block.line - 1])
            text = re.sub(r"<!--.*?-->|^```.*?^```$", "", before, flags=re.S | re.M)
            assert f"`{block.value}`" in text, f"{name}:{block.line}"


@pytest.mark.parametrize(
    "page",
    [
        "```text\na\n```\n",
        "```bash\nls\n```\n```text\na\n```\n```text\na\n```\n",
        "<!-- not run: x -->\n```bash\nls\n```\n```text\na\n```\n",
        "<!-- not run -->\n```bash\nls\n```\n",
        "```bash\nls\n",
    ],
)
def test_mistakes_in_a_page_are_errors(page):
    with pytest.raises(ValueError):
        blocks_of(page)


@pytest.mark.parametrize(
    ("expected", "got", "is_the_same"),
    [
        ("a  b\n", "a b", True),
        ("a b", "ab", False),
        ("a", "a b", False),
        ("F1 96.17", "F1  99.5", True),
        ("F1 90.17", "F1 98.2", False),
        ("p = 0.03", "p = 0.0749", True),
        ("0.00003", "3e-05", True),
        ("100 files", "104 files", True),
        ("19 files", "20 files", False),
        ("x\n...\ny", "x\nanything\nat all\ny", True),
        ("...\nEpoch 4\n...", "Epoch 1\na\nEpoch 4\nb", True),
        ("x\n...\ny", "x\nz", False),
        ('{"a": 1,\n "b": 2}', '{"a": 1, "b": 2}', True),
        ("0.5", "-0.5", False),
        ("B-PER", "I-PER", False),
    ],
)
def test_outputs_that_count_as_the_same(expected, got, is_the_same):
    assert (difference(expected, got) is None) == is_the_same


def test_the_site_builds_without_a_warning(tmp_path):
    """Of links and anchors that lead nowhere, too."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    build(config)
    assert (tmp_path / "index.html").exists()


def test_the_reference_is_up_to_date():
    """If not, `python docs/make_reference.py` writes it."""
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs/make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.reference() == module.PAGE.read_text(encoding="utf-8")


def test_the_readme_is_short():
    lines = read_page("README.md").splitlines()
    assert len(lines) <= 130
    assert max(map(len, lines)) <= 120
