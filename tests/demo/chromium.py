"""Headless Chromium, driven by selenium."""

import json
import shutil
from contextlib import contextmanager

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


def program(*names):
    """The path of the first of these programs that is installed."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError(
        f"expected one of {', '.join(names)} on the PATH, got none: install Debian's chromium and chromium-driver, or "
        'leave the tests in a browser out (pytest -m "not browser")'
    )


class Browser:
    """Chromium with one page: what a user does, what the page shows, and what Chromium logged."""

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

    def wait_until(self, expression, *arguments):
        """Waits in the page until a JavaScript expression of `given` (the arguments) is true."""
        script = (
            "const [done, given] = [[...arguments].pop(), arguments];"
            f"const look = () => (({expression}) ? done(true) : setTimeout(look, 5)); look();"
        )
        self.driver.execute_async_script(script, *arguments)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def errors(self):
        """The messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self):
        """The addresses that were requested since the last call."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, width):
        """A picture of the whole page at a width in pixels, as PNG."""
        self.resize((width, 800))
        self.resize((width, self.run("return document.documentElement.scrollHeight")))
        drawn = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        self.driver.execute_async_script(drawn)
        return self.driver.get_screenshot_as_png()


@contextmanager
def chromium():
    """A `Browser`, closed at the end."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(30)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
