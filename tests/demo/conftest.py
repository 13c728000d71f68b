"""A headless Chromium, and the page in it, from `allennlp serve --static-dir demo`."""

import http.client
import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ROOT = Path(__file__).resolve().parent.parent.parent
WIDE, NARROW = (1100, 800), (320, 640)


def program(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError(
        f"expected one of {', '.join(names)} on the PATH, got none: install Debian's chromium and chromium-driver, or "
        'leave the tests in a browser out (pytest -m "not browser")'
    )


class Browser:
    """What the tests do in Chromium, and what it noted meanwhile."""

    def __init__(self, driver):
        self.driver = driver

    def resize(self, size):
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.run(script, selector)

    def wait(self, condition):
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, 30, poll_frequency=0.02).until(lambda _: condition())

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def errors(self):
        """The messages in the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self):
        """The addresses asked for since the last call."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


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
