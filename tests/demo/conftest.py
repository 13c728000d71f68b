"""A headless Chromium, and the page in it, from `allennlp serve --static-dir demo`."""

import http.client
import json
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.demo.chromium import chromium

ROOT = Path(__file__).resolve().parent.parent.parent
WIDE, NARROW = (1100, 800), (320, 640)


@pytest.fixture(scope="session")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def sites(serve, archive_path, ner_archive, pos_archive, tmp_path_factory):
    """A server for each task, by its name: `port`, `process`, and `ask(request)`, its answer."""
    archives = {"word_qe": archive_path, "chunks": ner_archive, "tags": pos_archive}

    def site(stack, task, archive):
        folder = tmp_path_factory.mktemp("served")
        predictor = "word_qe" if task == "word_qe" else "nef_tagger"
        server = serve(folder, archive, predictor, "--static-dir", "demo")
        process, port = stack.enter_context(server)

        def ask(request):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            body = json.dumps(request)
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read().decode("utf-8"))
            connection.close()
            return answer

        return SimpleNamespace(process=process, port=port, ask=ask)

    with ExitStack() as stack:
        yield {task: site(stack, task, archive) for task, archive in archives.items()}


@pytest.fixture
def open_page(browser, sites):
    """`open_page(task, size)`: the page of a task, ready. Nothing may have gone wrong in it when the test ends."""
    browser.errors(), browser.requested()
    origins = set()

    def open_page(task, size=WIDE):
        origins.add(f"http://127.0.0.1:{sites[task].port}/")
        browser.resize(size)
        browser.driver.get(f"http://127.0.0.1:{sites[task].port}/")
        browser.wait(lambda: browser.all("#example-list button"))
        return browser

    open_page.expects = []  # messages of the console that a test is about
    yield open_page
    messages = [m for m in browser.errors() if not any(text in m for text in open_page.expects)]
    assert messages == []
    for url in browser.requested():
        assert url.startswith((*origins, "data:")), url
