"""The page in Chromium: form, tags, replay, keyboard, errors."""

import json

import numpy
import pytest

from tests.demo.conftest import NARROW, ROOT, WIDE

pytestmark = pytest.mark.browser

EXAMPLES = json.loads((ROOT / "demo" / "examples.json").read_text(encoding="utf-8"))


# What the page shows: of the current step, or of each step, chosen by the slider.
SHOWN = """
const texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
const shown = () => {
  const rows = [...document.querySelectorAll('.heat tbody tr')];
  return {
    words: texts('.chip .word'),
    tags: texts('.chip .tag'),
    probabilities: texts('.chip .probability').map(Number),
    attention: rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.weight))),
    current: rows.flatMap((row, n) => (row.getAttribute('aria-current') === 'step' ? [n + 1] : [])),
    status: document.querySelector('.status').textContent,
  };
};
"""
AT_EACH_STEP = """
const slider = document.querySelector('input[type=range]');
return Array.from({length: Number(slider.max)}, (_, n) => {
  slider.value = n + 1;
  slider.dispatchEvent(new Event('input'));
  return shown();
});
"""


def shown(browser):
    """What the page shows of the current step."""
    return browser.run(SHOWN + "return shown();")


def shown_at_each_step(browser):
    return browser.run(SHOWN + AT_EACH_STEP)


def submit(browser, **fields):
    """Fills in the form, sends it and waits for the result."""
    send(browser, **fields)
    wait_for_result(browser)


def send(browser, **fields):
    browser.run(
        "for (const [name, text] of Object.entries(arguments[0])) "
        "document.getElementById(name).value = text; "
        "document.getElementById('result').hidden = true",
        fields,
    )
    browser.one("#submit").click()


def wait_for_result(browser):
    browser.wait_until(
        "!document.getElementById('result').hidden "
        "&& !document.getElementById('form').hasAttribute('aria-busy')"
    )


def click_example(browser, index):
    browser.run("document.getElementById('result').hidden = true")
    browser.all("#example-list button")[index].click()
    wait_for_result(browser)


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


@pytest.mark.parametrize("task", EXAMPLES)
def test_page_fits_its_width_and_its_controls_have_names(open_page, task):
    browser = open_page(task)
    click_example(browser, 2)
    for size in (WIDE, NARROW):
        browser.resize(size)
        assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    controls = [e for e in browser.all("button, input, textarea") if e.is_displayed()]
    assert len(controls) >= 8
    assert all(control.accessible_name for control in controls)
    wanted = {"word_qe": ["source", "target", "alignments"]}.get(task, ["sentence"])
    fields = [e for e in browser.all("form textarea, form input") if e.is_displayed()]
    assert [field.get_attribute("id") for field in fields] == wanted


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
    assert browser.driver.switch_to.active_element.text == "Play"


def test_entities_of_the_answer_are_underlined(open_page, sites):
    browser = open_page("chunks")
    click_example(browser, 1)
    answer = sites["chunks"].predictor.predict_json(dict(EXAMPLES["chunks"][1]))
    assert answer["spans"]
    classes = browser.run(
        "return [...document.querySelectorAll('.chip')].map((e) => [...e.classList])"
    )
    begins = [i for i, names in enumerate(classes) if "span-begins" in names]
    ends = [i + 1 for i, names in enumerate(classes) if "span-ends" in names]
    inside = {i for i, names in enumerate(classes) if "span" in names}
    spans = [(span["start"], span["end"]) for span in answer["spans"]]
    assert list(zip(begins, ends)) == spans
    assert inside == {i for start, end in spans for i in range(start, end)}
    assert browser.texts(".spans bdi") == [span["text"] for span in answer["spans"]]


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
        "document.querySelector('input[type=range]').value)).observe("
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


@pytest.mark.parametrize("task, field", [("tags", "sentence"), ("word_qe", "target")])
def test_markup_in_words_is_shown_as_text(open_page, task, field):
    words = [
        "<img",
        "src=x",
        "onerror=window.ran=1>",
        "<script>window.ran=1</script>",
        "&amp;",
        "<b>",
    ]
    browser = open_page(task)
    texts = {"source": "<i>x</i>"} if task == "word_qe" else {}
    submit(browser, **texts, **{field: " ".join(words)})
    assert browser.texts(".chip .word") == words
    assert browser.texts(".heat thead th") == words
    assert browser.all("#result img, #result script, #result b, #result i") == []
    assert browser.run("return window.ran === undefined")


LEFTS = (
    "return [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect().left)"
)


@pytest.mark.parametrize("task", ["tags", "word_qe"])
def test_words_of_a_right_to_left_script_run_from_right_to_left(open_page, task):
    from selenium.webdriver.common.keys import Keys

    browser = open_page(task)
    words = ["قال", "محمد", "Lisbon", "."]
    name = "target" if task == "word_qe" else "sentence"
    source = {"source": "he said"} if task == "word_qe" else {}
    submit(browser, **source, **{name: " ".join(words)})
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
    if task == "word_qe":
        lefts = browser.run(LEFTS, ".source li")
        assert lefts == sorted(lefts)


@pytest.mark.parametrize("task", EXAMPLES)
def test_long_words_fit_on_a_phone(open_page, task):
    browser = open_page(task, NARROW)
    name = "target" if task == "word_qe" else "sentence"
    word = "Marlow" * 50
    source = {"source": word} if task == "word_qe" else {}
    submit(browser, **source, **{name: f"Judge {word} ."})
    assert browser.run("return document.documentElement.scrollWidth") <= NARROW[0]
    assert browser.all(".heat thead th")[1].get_attribute("title") == word


def test_one_word_has_one_step_and_no_play_button(open_page):
    browser = open_page("tags")
    submit(browser, sentence="Paul")
    assert shown(browser)["current"] == [1]
    assert not browser.one(".play").is_displayed()


def test_error_is_visible_on_a_phone_and_marks_its_field(open_page):
    open_page.expects = ["status of 400"]
    browser = open_page("tags", NARROW)
    send(browser, sentence=" ")
    browser.wait_until("!document.getElementById('error').hidden")
    top, bottom = browser.run(
        "const r = document.getElementById('error').getBoundingClientRect(); return [r.top, r.bottom]"
    )
    assert 0 <= top < bottom <= NARROW[1]
    field = browser.one("#sentence")
    assert field.get_attribute("aria-invalid") == "true"
    assert "error" in field.get_attribute("aria-describedby")
    submit(browser, sentence="Paul dort .")
    assert field.get_attribute("aria-invalid") == "false"


def test_errors_of_the_server_are_shown_as_sentences(open_page, browser):
    open_page.expects = ["status of 400"]
    open_page("word_qe")
    long = "a " * 1001
    for fields, message in (
        (
            {"source": "a", "target": " "},
            'Target: expected at least one word, got " ".',
        ),
        (
            {"source": "a", "target": "b", "alignments": "0-7"},
            "Alignments: expected target indices from 0 to 0, got 7 in 0-7.",
        ),
        ({"source": long}, "Source: expected at most 1000 words, got 1001."),
    ):
        send(browser, **fields)
        browser.wait_until("document.getElementById('error').textContent === given[0]", message)
        assert browser.one("#error").get_attribute("role") == "alert"
        assert not browser.one("#result").is_displayed()
    submit(browser, source="a", target="b", alignments="")
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
