"""Headless Chromium, driven by selenium."""

import shutil
from contextlib import contextmanager

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def missing_program():
    """The name of a program that the tests in a browser need and that is not installed; None if there is none."""
    programs = {"chromium": ("chromium", "google-chrome"), "chromedriver": ("chromedriver",)}
    return next((p for p, names in programs.items() if not any(map(shutil.which, names))), None)


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


@contextmanager
def chromium():
    """A `Browser`, closed at the end."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(30)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
