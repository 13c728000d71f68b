"""The page in a real browser: forms, chips, replay, keyboard, errors."""

import json

import numpy
import pytest

from tests.demo.conftest import NARROW, ROOT

pytestmark = pytest.mark.browser

EXAMPLES = json.loads((ROOT / "demo" / "examples.json").read_text(encoding="utf-8"))
EACH_EXAMPLE = [(task, i) for task, examples in EXAMPLES.items() for i in range(len(examples))]


def shown(browser):
    """What the page shows of the step that is chosen."""
    rows = browser.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map("
        "(row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.weight)))"
    )
    current = browser.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => row.getAttribute('aria-current'))"
    )
    return {
        "words": browser.texts(".chip .word"),
        "tags": browser.texts(".chip .tag"),
        "probabilities": browser.texts(".chip .probability"),
        "attention": rows,
        "current": [n for n, value in enumerate(current, 1) if value == "step"],
        "status": browser.one(".status").text,
    }


def submit(browser, **fields):
    for name, text in fields.items():
        browser.run(
            "document.getElementById(arguments[0]).value = arguments[1]; "
            "document.getElementById('result').hidden = true",
            name,
            text,
        )
    browser.one("#submit").click()


def wait_for_result(browser):
    browser.wait(
        lambda: (
            browser.one("#result").is_displayed()
            and browser.one("#form").get_attribute("aria-busy") is None
        )
    )


def click_example(browser, index):
    browser.all("#example-list button")[index].click()
    wait_for_result(browser)


@pytest.mark.parametrize("task, index", EACH_EXAMPLE)
def test_each_example(open_page, sites, task, index):
    """Every step, by the keys of the slider: chips and heat map are those of the JSON."""
    from selenium.webdriver.common.keys import Keys

    browser = open_page(task)
    click_example(browser, index)
    answer = sites[task].ask({**EXAMPLES[task][index], "trace": True})
    trace = answer["trace"]
    steps = len(trace["attention"])
    assert shown(browser)["current"] == [steps]
    assert browser.texts(".heat thead th") == answer["tokens"]
    slider = browser.one("input[type=range]")
    slider.send_keys(Keys.HOME)
    for n in range(steps):
        page = shown(browser)
        assert page["words"] == answer["tokens"]
        assert page["tags"] == trace["provisional_tags"][n]
        numbers = [float(text) for text in page["probabilities"]]
        assert numbers == pytest.approx(trace["provisional_probabilities"][n], abs=0.0051)
        assert page["attention"] == [pytest.approx(row, abs=2e-6) for row in trace["attention"]]
        assert page["current"] == [n + 1]
        assert page["status"].startswith(f"Step {n + 1} of {steps}: most attention on ")
        slider.send_keys(Keys.ARROW_RIGHT)
    settled = browser.run(
        "return [...document.querySelectorAll('.heat tbody tr')].flatMap((row, n) => "
        "[...row.cells].flatMap((cell, i) => cell.classList.contains('settled') ? [[i - 1, n + 1]] : []))"
    )
    assert sorted(settled) == [[i, n] for i, n in enumerate(trace["settled_at"])]
    assert browser.texts(".chip .tag") == answer["tags"]


@pytest.mark.parametrize("size", [(1100, 800), NARROW])
@pytest.mark.parametrize("task", EXAMPLES)
def test_it_fits(open_page, task, size):
    """No sideways scrolling of the page, on a phone either; each control has a name."""
    browser = open_page(task, size)
    click_example(browser, 2)
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    controls = [e for e in browser.all("button, input, textarea") if e.is_displayed()]
    assert len(controls) >= 8
    assert all(control.accessible_name for control in controls)
    wanted = {"word_qe": ["source", "target", "alignments"]}.get(task, ["sentence"])
    fields = [e.get_attribute("id") for e in browser.all("form textarea, form input")]
    assert [name for name in fields if browser.one(f"#{name}").is_displayed()] == wanted


def test_aligned_words_light_up(open_page):
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


def test_entities_are_underlined(open_page, sites):
    browser = open_page("chunks")
    click_example(browser, 1)
    answer = sites["chunks"].ask({**EXAMPLES["chunks"][1]})
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
def test_models_without_steps(open_page, sites, task, name):
    """The layers of label attention, whose rows are the probabilities of their tags; the words of self-attention."""
    from selenium.webdriver.common.keys import Keys

    browser = open_page(task)
    click_example(browser, 0)
    sentence = EXAMPLES["tags" if task == "layers" else "chunks"][0]
    answer = sites[task].ask({**sentence, "trace": True})
    trace, tokens = answer["trace"], answer["tokens"]
    is_layers = task == "layers"
    weights = trace["provisional_probabilities"] if is_layers else trace["attention"]
    assert len(weights) == (3 if is_layers else len(tokens))
    heading = browser.texts("#result h3")[-1]
    assert heading == f"Replay of the {name}s"
    browser.one("input[type=range]").send_keys(Keys.HOME)
    for n in range(len(weights)):
        page = shown(browser)
        assert page["words"] == tokens
        assert page["tags"] == (trace["provisional_tags"][n] if is_layers else answer["tags"])
        assert page["attention"] == [pytest.approx(row, abs=2e-6) for row in weights]
        assert page["status"].startswith(f"{name.capitalize()} {n + 1} of {len(weights)}")
        assert ("of itself" in page["status"]) is not is_layers
        browser.one("input[type=range]").send_keys(Keys.ARROW_RIGHT)
    assert browser.texts(".chip .tag") == answer["tags"]


def test_play(open_page):
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
    browser.wait(lambda: play.text == "Play")
    seen = list(map(int, browser.run("return window.seen")))
    assert seen[0] == 1 and seen[-1] == 5 and seen == sorted(set(seen))
    # It can be stopped, by itself and by the slider.
    play.click()
    play.click()
    assert play.text == "Play" and shown(browser)["current"] == [1]
    browser.all(".heat tbody tr")[2].click()
    assert shown(browser)["current"] == [3]


@pytest.mark.parametrize("task, field", [("tags", "sentence"), ("word_qe", "target")])
def test_markup_in_words_is_text(open_page, task, field):
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
    wait_for_result(browser)
    assert browser.texts(".chip .word") == words
    assert browser.texts(".heat thead th") == words
    assert browser.all("#result img, #result script, #result b, #result i") == []
    assert browser.run("return window.ran === undefined")


@pytest.mark.parametrize("task", ["tags", "word_qe"])
def test_right_to_left(open_page, task):
    from selenium.webdriver.common.keys import Keys

    browser = open_page(task)
    words = ["قال", "محمد", "Lisbon", "."]
    name = "target" if task == "word_qe" else "sentence"
    submit(
        browser, **({"source": "he said"} if task == "word_qe" else {}), **{name: " ".join(words)}
    )
    wait_for_result(browser)
    assert browser.texts(".chip .word") == words
    for selector in (".chip", ".heat thead th"):
        lefts = [element.rect["x"] for element in browser.all(selector)]
        assert lefts == sorted(lefts, reverse=True), selector
    browser.run("arguments[0].focus()", browser.all(".chip")[0])
    browser.press(Keys.ARROW_LEFT)
    assert (
        browser.run("return document.activeElement.querySelector('.word').textContent") == words[1]
    )
    # The source has a direction of its own.
    if task == "word_qe":
        lefts = [element.rect["x"] for element in browser.all(".source li")]
        assert lefts == sorted(lefts)


@pytest.mark.parametrize("task", EXAMPLES)
def test_long_words_fit(open_page, task):
    browser = open_page(task, NARROW)
    name = "target" if task == "word_qe" else "sentence"
    word = "Marlow" * 50
    submit(browser, **({"source": word} if task == "word_qe" else {}), **{name: f"Judge {word} ."})
    wait_for_result(browser)
    assert browser.run("return document.documentElement.scrollWidth") <= NARROW[0]
    assert browser.all(".heat thead th")[1].get_attribute("title") == word


def test_one_word(open_page):
    browser = open_page("tags")
    submit(browser, sentence="Paul")
    wait_for_result(browser)
    assert shown(browser)["current"] == [1]
    assert not browser.one(".play").is_displayed()  # there is nothing to play


def test_errors_can_be_seen_on_a_phone(open_page):
    open_page.expects = ["status of 400"]
    browser = open_page("tags", NARROW)
    submit(browser, sentence=" ")
    browser.wait(lambda: browser.one("#error").is_displayed())
    top, bottom = browser.run(
        "const r = document.getElementById('error').getBoundingClientRect(); return [r.top, r.bottom]"
    )
    assert 0 <= top < bottom <= NARROW[1]
    field = browser.one("#sentence")
    assert field.get_attribute("aria-invalid") == "true"
    assert "error" in field.get_attribute("aria-describedby")
    submit(browser, sentence="Paul dort .")
    wait_for_result(browser)
    assert field.get_attribute("aria-invalid") == "false"


def test_errors_are_sentences(open_page, browser):
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
        submit(browser, **fields)
        browser.wait(lambda message=message: browser.one("#error").text == message)
        assert browser.one("#error").get_attribute("role") == "alert"
        assert not browser.one("#result").is_displayed()
    submit(browser, source="a", target="b", alignments="")
    wait_for_result(browser)
    assert not browser.one("#error").is_displayed()


def test_by_keyboard_alone(open_page):
    from selenium.webdriver.common.keys import Keys

    browser = open_page("tags")
    browser.press(Keys.TAB, "Paul dort .")
    browser.one("#sentence").send_keys(Keys.CONTROL, Keys.ENTER)
    browser.wait(lambda: browser.texts(".chip .word") == ["Paul", "dort", "."])
    # From the result's title on: the words, the button, the slider.
    browser.press(Keys.TAB)
    assert "chip" in browser.driver.switch_to.active_element.get_attribute("class")
    browser.press(Keys.TAB, Keys.TAB, Keys.ARROW_LEFT)
    assert shown(browser)["current"] == [2]


def test_a_long_sentence_has_a_picture(open_page, sites):
    """From some size on the heat map is a canvas, a pixel a cell."""
    from selenium.webdriver.common.action_chains import ActionChains

    browser = open_page("tags")
    text = " ".join(["le", "chat", "dort", "et"] * 20)
    submit(browser, sentence=text)
    wait_for_result(browser)
    trace = sites["tags"].ask({"sentence": text, "trace": True})["trace"]
    pixels = browser.run(
        "const c = document.querySelector('canvas'); "
        "return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    )
    # White, indigo at 0.25, dark blue at 1, by the square root.
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
