"""README.md, CONTRIBUTING.md and docs/: every block runs and prints what the page says, links hold."""

import importlib.util
import re

import pytest

from tests.docs_blocks import blocks_of
from tests.docs_rounding import rounds_as_the_pages
from tests.docs_session import PAGES, ROOT, Shared, read_page


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id, programs):
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "docs"
    folder.mkdir(exist_ok=True)
    return Shared(folder, programs)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_run_and_print_what_the_page_says(name, shared, tmp_path):
    shared.fill(name, tmp_path)
    with shared.session(tmp_path, name) as session:
        found = [f"{name}:{line}: {text}" for line, text in session.problems(read_page(name))]
    if found and not rounds_as_the_pages():
        # Every block has run and ended as it should.
        pytest.skip("this CPU rounds differently, so its models print something else:\n" + found[0])
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("name", PAGES)
def test_the_text_names_each_file_that_its_reader_saves(name):
    page = read_page(name)
    for block in blocks_of(page):
        if block.key == "file":
            before = "\n".join(page.split("\n")[: block.line - 1])
            text = re.sub(r"<!--.*?-->|^```.*?^```$", "", before, flags=re.S | re.M)
            assert f"`{block.value}`" in text, f"{name}:{block.line}"


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
