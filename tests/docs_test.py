"""README.md, CONTRIBUTING.md and docs/: every block runs, and prints what the page says."""

import sys

import pytest

from tests.docs_programs import programs
from tests.docs_session import PAGES, Session, Shared, read_page

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the pages show the modern stack")


@pytest.fixture(scope="session")
def shared(tmp_path_factory, worker_id):
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "docs"
    folder.mkdir(exist_ok=True)
    with programs(tmp_path_factory.mktemp("bin")) as bin_folder:
        yield Shared(folder, bin_folder)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_run_and_print_what_the_page_says(name, shared, tmp_path):
    if name != "README.md":
        shared.examples(tmp_path)
    with Session(tmp_path, shared, read_page(name)) as session:
        problems = [f"{name}:{line}: {problem}" for line, problem in session.problems()]
    assert not problems, "\n\n".join(problems)
