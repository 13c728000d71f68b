"""The form of the page in Chromium: words of all kinds, errors, keyboard."""

import pytest

from tests.demo.actions import send, shown, submit, wait_for_result
from tests.demo.conftest import NARROW

pytestmark = pytest.mark.browser


def test_markup_in_words_is_shown_as_text(open_page):
    words = [
        "<img",
        "src=x",
        "onerror=window.ran=1>",
        "<script>window.ran=1</script>",
        "&amp;",
        "<b>",
    ]
    browser = open_page("word_qe")
    submit(browser, source="<i>x</i>", target=" ".join(words))
    assert browser.texts(".chip .word") == words
    assert browser.texts(".heat thead th") == words
    assert browser.all("#result img, #result script, #result b, #result i") == []
    assert browser.run("return window.ran === undefined")


LEFTS = (
    "return [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect().left)"
)


def test_words_of_a_right_to_left_script_run_from_right_to_left(open_page):
    from selenium.webdriver.common.keys import Keys

    browser = open_page("word_qe")
    words = ["قال", "محمد", "Lisbon", "."]
    submit(browser, source="he said", target=" ".join(words))
    assert browser.texts(".chip .word") == words
    for selector in (".chip", ".heat thead th"):
        lefts = browser.run(LEFTS, selector)
        assert lefts == sorted(lefts, reverse=True), selector
    browser.run("arguments[0].focus()", browser.all(".chip")[0])
    browser.press(Keys.ARROW_LEFT)
    assert (
        browser.run("return document.activeElement.querySelector('.word').textContent") == words[1]
    )
    # The source has a direction of its own.
    lefts = browser.run(LEFTS, ".source li")
    assert lefts == sorted(lefts)


def test_one_long_word_fits_on_a_phone_and_has_one_step(open_page):
    browser = open_page("tags", NARROW)
    word = "Marlow" * 50
    submit(browser, sentence=word)
    assert browser.run("return document.documentElement.scrollWidth") <= NARROW[0]
    assert browser.one(".heat thead th").get_attribute("title") == word
    assert shown(browser)["current"] == [1]
    assert not browser.one(".play").is_displayed()


def test_errors_are_sentences_that_are_visible_on_a_phone_and_mark_their_field(open_page):
    open_page.expects = ["status of 400"]
    browser = open_page("word_qe", NARROW)
    fields = {"source": "a", "target": "b", "alignments": "0-7"}
    message = "Alignments: expected target indices from 0 to 0, got 7 in 0-7."
    send(browser, **fields)
    browser.wait_until("document.getElementById('error').textContent === given[0]", message)
    top, bottom = browser.run(
        "const r = document.getElementById('error').getBoundingClientRect(); return [r.top, r.bottom]"
    )
    assert 0 <= top < bottom <= NARROW[1]
    assert browser.one("#error").get_attribute("role") == "alert"
    assert not browser.one("#result").is_displayed()
    field = browser.one("#alignments")
    assert field.get_attribute("aria-invalid") == "true"
    assert "error" in field.get_attribute("aria-describedby")
    submit(browser, source="a", target="b", alignments="")
    assert field.get_attribute("aria-invalid") == "false"
    assert not browser.one("#error").is_displayed()


def test_keyboard_alone_reaches_the_words_and_the_slider(open_page):
    from selenium.webdriver.common.keys import Keys

    browser = open_page("tags")
    browser.press(Keys.TAB, "Paul dort .")
    browser.one("#sentence").send_keys(Keys.CONTROL, Keys.ENTER)
    wait_for_result(browser)
    assert browser.texts(".chip .word") == ["Paul", "dort", "."]
    # The title of the result has the focus; then come the words, the button and the slider.
    browser.press(Keys.TAB)
    assert "chip" in browser.driver.switch_to.active_element.get_attribute("class")
    browser.press(Keys.TAB, Keys.TAB, Keys.ARROW_LEFT)
    assert shown(browser)["current"] == [2]
    browser.press(Keys.HOME)
    assert shown(browser)["current"] == [1]
    browser.press(Keys.ARROW_RIGHT)
    assert shown(browser)["current"] == [2]
