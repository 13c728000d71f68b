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
def sites(serve, archive_path, ner_archive, pos_archive, request, tmp_path_factory):
    """A server for each task, and for models with other traces, by name, started when it is first asked for: `port`,
    `process`, and `ask(request)`, its answer."""
    archives = {
        "word_qe": lambda: archive_path,
        "chunks": lambda: ner_archive,
        "tags": lambda: pos_archive,
        "layers": lambda: request.getfixturevalue("neighbours")["pos_lan"],
        "self-attention": lambda: request.getfixturevalue("neighbours")["ner_psa"],
    }

    def site(stack, task):
        folder = tmp_path_factory.mktemp("served")
        predictor = "word_qe" if task == "word_qe" else "nef_tagger"
        server = serve(folder, archives[task](), predictor, "--static-dir", "demo")
        process, port = stack.enter_context(server)

        def ask(request):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            body = json.dumps(request)
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read().decode("utf-8"))
            connection.close()
            return answer

        return SimpleNamespace(process=process, port=port, ask=ask)

    class Sites(dict):
        def __missing__(self, task):
            self[task] = site(stack, task)
            return self[task]

    with ExitStack() as stack:
        yield Sites()


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
