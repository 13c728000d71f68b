"""A headless Chromium, and the page in it, from the application of `allennlp serve --static-dir demo`."""

from contextlib import ExitStack
from copy import copy
from types import SimpleNamespace

import pytest

from tests.demo.actions import GOOD
from tests.demo.chromium import chromium
from tests.demo.server import served, served_with

WIDE, NARROW = (1100, 800), (320, 640)


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def sites(request, predictor_of):
    """The server of each task, and of models with other traces, by name: `address` and `predictor`.

    A server starts, in this process, when a test asks for it for the first time. The models have no examples of their
    own, so that those of the page are shown.
    """
    archives = {
        "word_qe": lambda: request.getfixturevalue("archive_path"),
        "chunks": lambda: request.getfixturevalue("ner_archive"),
        "tags": lambda: request.getfixturevalue("pos_archive"),
        "layers": lambda: request.getfixturevalue("baselines")["pos_lan"],
        "self-attention": lambda: request.getfixturevalue("baselines")["ner_psa"],
    }

    class Sites(dict):
        def __missing__(self, task):
            predictor = predictor_of(
                archives[task](), "word_qe" if task == "word_qe" else "nef_tagger"
            )
            predictor._dataset_reader = copy(predictor._dataset_reader)
            predictor._dataset_reader.saved_examples = None
            address = stack.enter_context(served(predictor))
            self[task] = SimpleNamespace(address=address, predictor=predictor)
            return self[task]

    with ExitStack() as stack:
        yield Sites()


@pytest.fixture
def open_page(browser, sites):
    """`open_page(task, size)`: the page of a task, ready.

    At the end of the test the console may have no message but those in `open_page.expects`, and the page may have
    asked no other server.
    """
    browser.errors(), browser.requested()
    addresses = set()

    def open_page(task, size=WIDE):
        address = sites[task].address
        addresses.add(address)
        browser.resize(size)
        browser.driver.get(address)
        browser.wait_until("document.querySelector('#example-list button')")
        return browser

    open_page.expects = []  # parts of messages
    yield open_page
    messages = [m for m in browser.errors() if not any(text in m for text in open_page.expects)]
    assert messages == []
    for url in browser.requested():
        assert url.startswith((*addresses, "data:")), url


@pytest.fixture(scope="module")
def loaded_page(browser):
    """The scripts of the page, loaded once."""
    with served_with([GOOD]) as address:
        browser.driver.get(address)
        browser.wait_until("document.querySelector('#example-list button')")
    return browser


@pytest.fixture
def replay_page(loaded_page):
    """A page for `show`; nothing may go wrong in it."""
    loaded_page.errors()
    yield loaded_page
    assert loaded_page.errors() == []
