"""The page in Chromium: tags, heat map and replay."""

import numpy
import pytest

from tests.demo.actions import EXAMPLES, click_example, shown, shown_at_each_step, submit
from tests.demo.conftest import NARROW, WIDE
from tests.demo.server import served

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("task", EXAMPLES)
def test_each_step_shows_the_tags_and_the_attention_of_the_answer(open_page, sites, task):
    browser = open_page(task)
    for index, request in enumerate(EXAMPLES[task]):
        click_example(browser, index)
        answer = sites[task].predictor.predict_json({**request, "trace": True})
        trace = answer["trace"]
        steps = len(trace["attention"])
        assert shown(browser)["current"] == [steps]
        assert browser.texts(".heat thead th") == answer["tokens"]
        pages = shown_at_each_step(browser)
        assert len(pages) == steps
        for n, page in enumerate(pages):
            assert page["words"] == answer["tokens"]
            assert page["tags"] == trace["provisional_tags"][n]
            expected = trace["provisional_probabilities"][n]
            if task == "word_qe":  # the probability of BAD, whatever the tag
                pairs = zip(expected, page["tags"])
                expected = [value if tag == "BAD" else 1 - value for value, tag in pairs]
            assert page["probabilities"] == pytest.approx(expected, abs=0.0051)
            assert page["attention"] == [pytest.approx(row, abs=2e-6) for row in trace["attention"]]
            assert page["current"] == [n + 1]
            assert page["status"].startswith(f"Step {n + 1} of {steps}: most attention on ")
        settled = browser.run(
            "return [...document.querySelectorAll('.heat tbody tr')].flatMap((row, n) => "
            "[...row.cells].flatMap((cell, i) => cell.classList.contains('settled') ? [[i - 1, n + 1]] : []))"
        )
        assert sorted(settled) == [[i, n] for i, n in enumerate(trace["settled_at"])]
        assert browser.texts(".chip .tag") == answer["tags"]
    for size in (WIDE, NARROW):
        browser.resize(size)
        assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    controls = [e for e in browser.all("button, input, textarea") if e.is_displayed()]
    assert len(controls) >= 8
    assert all(control.accessible_name for control in controls)
    wanted = {"word_qe": ["source", "target", "alignments"]}.get(task, ["sentence"])
    fields = [e for e in browser.all("form textarea, form input") if e.is_displayed()]
    assert [field.get_attribute("id") for field in fields] == wanted


def test_examples_are_those_of_the_model_where_it_has_some(browser, archive_path, predictor_of):
    predictor = predictor_of(archive_path)
    examples = predictor.description()["examples"]
    with served(predictor) as address:
        browser.driver.get(address)
        browser.wait_until("document.querySelector('#example-list button')")
        assert browser.one("#examples-hint").is_displayed()
        shown_examples = [
            [span.text for span in button.find_elements("css selector", "span")]
            for button in browser.all("#example-list button")
        ]
        assert shown_examples == [[one["source"], one["target"]] for one in examples]
        click_example(browser, 2)
        answer = predictor.predict_json(examples[2])
        assert browser.texts(".chip .word") == answer["tokens"]
        assert browser.texts(".chip .tag") == answer["tags"]
        assert browser.one("#alignments").get_attribute("value") == examples[2]["alignments"]
    assert browser.errors() == []


def test_word_under_the_pointer_or_with_focus_marks_its_source_words_and_its_column(open_page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = open_page("word_qe")
    click_example(browser, 0)
    lit = "return [...document.querySelectorAll('.source .lit')].map((e) => e.textContent)"
    source = EXAMPLES["word_qe"][0]["source"].split()
    assert browser.texts(".source li") == source
    chips = browser.all(".chip")
    ActionChains(browser.driver).move_to_element(chips[2]).perform()
    assert browser.run(lit) == ["Paul"]
    assert len(browser.all(".heat .lit")) == 6  # the column of the word and its head
    ActionChains(browser.driver).move_to_element(browser.one("#title")).perform()
    assert browser.run(lit) == []
    # By keyboard: one stop for all words, then the arrow keys.
    browser.run("arguments[0].focus()", chips[0])
    assert browser.run(lit) == ["often"]
    browser.press(Keys.ARROW_RIGHT)
    assert browser.run(lit) == ["brings"]
    browser.press(Keys.END)
    assert browser.run(lit) == ["."]
    browser.press(Keys.ARROW_RIGHT, Keys.HOME, Keys.ARROW_LEFT)
    assert browser.run(lit) == ["often"]
    assert len(browser.all(".chip[tabindex='0']")) == 1
    browser.press(Keys.TAB)
    assert browser.run(lit) == []
    assert browser.driver.switch_to.active_element == browser.one(".threshold input")


@pytest.mark.parametrize("task, name", [("layers", "layer"), ("self-attention", "word")])
def test_rows_of_label_attention_are_layers_and_of_self_attention_words(
    open_page, sites, task, name
):
    browser = open_page(task)
    click_example(browser, 0)
    sentence = EXAMPLES["tags" if task == "layers" else "chunks"][0]
    answer = sites[task].predictor.predict_json({**sentence, "trace": True})
    trace, tokens = answer["trace"], answer["tokens"]
    is_layers = task == "layers"
    weights = trace["provisional_probabilities"] if is_layers else trace["attention"]
    assert len(weights) == (3 if is_layers else len(tokens))
    assert browser.texts("#result h3")[-1] == f"Replay of the {name}s"
    pages = shown_at_each_step(browser)
    assert len(pages) == len(weights)
    for n, page in enumerate(pages):
        assert page["words"] == tokens
        assert page["tags"] == (trace["provisional_tags"][n] if is_layers else answer["tags"])
        assert page["attention"] == [pytest.approx(row, abs=2e-6) for row in weights]
        assert page["status"].startswith(f"{name.capitalize()} {n + 1} of {len(weights)}")
        assert ("of itself" in page["status"]) is not is_layers
    assert browser.texts(".chip .tag") == answer["tags"]


def test_play_shows_each_step_in_order_and_can_be_stopped(open_page):
    browser = open_page("chunks")
    click_example(browser, 0)
    browser.run(
        "window.seen = []; new MutationObserver(() => window.seen.push("
        "document.querySelector('.controls input').value)).observe("
        "document.querySelector('.status'), {childList: true})"
    )
    play = browser.one(".play")
    play.click()
    assert play.text == "Pause"
    browser.wait_until("document.querySelector('.play').textContent === 'Play'")
    seen = list(map(int, browser.run("return window.seen")))
    assert seen[0] == 1 and seen[-1] == 5 and seen == sorted(set(seen))
    # It stops by the button, and by a click on a row of the heat map.
    play.click()
    play.click()
    assert play.text == "Play" and shown(browser)["current"] == [1]
    browser.all(".heat tbody tr")[2].click()
    assert shown(browser)["current"] == [3]


def test_heat_map_of_a_long_sentence_is_a_canvas_with_a_pixel_for_each_weight(open_page, sites):
    from selenium.webdriver.common.action_chains import ActionChains

    browser = open_page("tags")
    text = " ".join(["le", "chat", "dort", "et"] * 20)
    submit(browser, sentence=text)
    trace = sites["tags"].predictor.predict_json({"sentence": text, "trace": True})["trace"]
    pixels = browser.run(
        "const c = document.querySelector('canvas'); "
        "return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )
    # The color follows the square root of the weight: white at 0, indigo at 0.25, dark blue at 1.
    scale = numpy.array([[255, 255, 255], [0x43, 0x38, 0xCA], [0x17, 0x12, 0x4F]])
    roots = numpy.sqrt(trace["attention"]).clip(0, 1).ravel()
    expected = [numpy.interp(roots, [0, 0.5, 1], channel) for channel in scale.T]
    assert len(pixels) == 4 * 80 * 80
    for channel, values in enumerate(expected):
        assert pixels[channel::4] == pytest.approx(values, abs=1.1)
    assert set(pixels[3::4]) == {255}
    canvas = browser.one("canvas")
    browser.run("arguments[0].addEventListener('click', (e) => { window.at = e.offsetY; })", canvas)
    browser.run("arguments[0].scrollIntoView({block: 'start'})", canvas)
    ActionChains(browser.driver).move_to_element(canvas).click().perform()
    step = 1 + int(browser.run("return window.at") / canvas.rect["height"] * 80)
    assert 1 < step < 80
    assert browser.one(".status").text.startswith(f"Step {step} of 80")
    assert browser.all(".heat") == []
