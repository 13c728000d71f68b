"""A headless Chromium, driven by selenium, and a server of the page."""

import shutil
import threading
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from allennlp_nef.serving import create_app

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


class Browser:
    """Chromium with one page: what a user does, and what the page shows."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address, width=1100):
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get(address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return [text.replace("\u00a0", " ") for text in self.run(script, selector)]

    def wait_until(self, expression):
        """Waits until a JavaScript expression is true."""
        script = (
            f"const done = arguments[0]; const look = () => (({expression}) ? done(true) : "
            "setTimeout(look, 5)); look();"
        )
        self.driver.execute_async_script(script)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def hover(self, selector):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).move_to_element(self.one(selector)).perform()

    def set(self, selector, value):
        """Changes a field as a user does."""
        script = (
            "const field = document.querySelector(arguments[0]); field.value = arguments[1]; "
            "field.dispatchEvent(new Event('input', { bubbles: true }))"
        )
        self.run(script, selector, value)

    def errors(self):
        """The messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver_program = shutil.which("chromedriver")
    if not program or not driver_program:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_program))
    driver.set_script_timeout(30)
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def page(browser):
    """The browser; no message may be in its console at the end, but for those of refused requests."""
    browser.errors()
    yield browser
    assert [error for error in browser.errors() if "status of 400" not in error] == []


@contextmanager
def served(predictor):
    """The address of the application of `allennlp_nef.serving` with this predictor."""
    from werkzeug.serving import make_server

    with patch("allennlp_nef.serving.load_predictor", return_value=predictor):
        server = make_server("127.0.0.1", 0, create_app("small"), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.shutdown()
        thread.join()
