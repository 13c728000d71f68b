"""What the page shows of answers that the small models of the tests never give."""

import random

import pytest

from allennlp_nef.data.formats.chunks import chunks_of
from tests.demo.actions import GOOD, describe, show
from tests.demo.server import served_with

pytestmark = pytest.mark.browser


def test_wrong_tags_show_the_gold_tag(replay_page):
    answer = {
        "tokens": ["a", "b", "c"],
        "tags": ["X", "Y", "Y"],
        "gold": ["X", "Y", "X"],
        "probabilities": [0.9, 0.8, 0.7],
        "trace": {
            "attention": [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]],
            "coverage": [[0.5, 0.25, 0.25], [0.6, 0.85, 0.55]],
            "provisional_tags": [["X", "X", "Y"], ["X", "Y", "Y"]],
            "provisional_probabilities": [[0.5, 0.5, 0.5], [0.9, 0.8, 0.7]],
            "settled_at": [1, 2, 1],
        },
    }
    show(replay_page, answer, describe("tags", "X", "Y", step_name="layer"))
    assert replay_page.texts(".chip .gold") == ["", "", "gold X"]
    assert replay_page.texts(".chip.wrong .word") == ["c"]
    assert replay_page.one(".status").text == (
        "Layer 2 of 2: most attention on “\u2068b\u2069” (0.60). Changed: \u2068b\u2069 X → Y."
    )
    replay_page.all(".heat tbody tr")[0].click()
    assert replay_page.texts(".chip .gold") == ["", "gold Y", "gold X"]
    assert (
        replay_page.one(".status").text == "Layer 1 of 2: most attention on “\u2068a\u2069” (0.50)."
    )
    colors = replay_page.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.style.getPropertyValue('--tag')))"
    )
    assert colors == [["#000000", "#000000", "#000001"], ["#000000", "#000001", "#000001"]]
    assert replay_page.texts(".legend li") == ["X", "Y"]


def test_bar_of_a_word_is_its_coverage_with_the_attention_of_the_step(replay_page):
    answer = {
        "tokens": ["a", "b"],
        "tags": ["X", "X"],
        "probabilities": [1.0, 1.0],
        "trace": {
            "attention": [[0.75, 0.25], [0.75, 0.25]],
            "coverage": [[0.75, 0.25], [1.5, 0.5]],
            "provisional_tags": [["X", "X"]] * 2,
            "provisional_probabilities": [[1.0, 1.0]] * 2,
            "settled_at": [1, 1],
        },
    }
    show(replay_page, answer, describe("tags", "X"))
    bars = (
        "return [...document.querySelectorAll('.chip')].map((e) => "
        "['--before', '--covered'].map((name) => Number(e.style.getPropertyValue(name))))"
    )
    assert replay_page.run(bars) == [[0.25, 1], [0.25, 0.5]]
    replay_page.all(".heat tbody tr")[0].click()
    assert replay_page.run(bars) == [[0, 0.75], [0, 0.25]]
    # As wide as the share of the word that it covers.
    width = replay_page.run(
        "const e = document.querySelectorAll('.chip')[1]; "
        "return parseFloat(getComputedStyle(e, '::before').width) / e.clientWidth"
    )
    assert width == pytest.approx(0.25, abs=0.01)


def test_single_word_of_self_attention_has_no_most_attended_word(replay_page):
    trace = {"attention": [[0.0]], "gates": [0.5]}
    answer = {"tokens": ["a"], "tags": ["X"], "probabilities": [1.0], "trace": trace}
    show(replay_page, answer, describe("tags", "X", step_name="word"))
    assert replay_page.one(".status").text == (
        "Word 1 of 1 (“\u2068a\u2069”, which keeps 0.50 of itself)."
    )


def test_underlined_chunks_are_those_of_conlleval(replay_page):
    chance = random.Random(5)
    labels = ["O", *(f"{prefix}-{kind}" for prefix in "BIULES" for kind in "XY")]
    sentences = [chance.choices(labels, k=chance.randint(1, 12)) for _ in range(60)]
    script = """
    const [sentences, description] = arguments;
    return sentences.map((tags) => {
      const div = document.createElement('div');
      const answer = {tokens: tags, tags, probabilities: tags.map(() => 1), spans: [], trace: null};
      Replay.show(div, answer, description);
      return [...div.querySelectorAll('.chip')].map((e) => [...e.classList]);
    });
    """
    for tags, classes in zip(
        sentences, replay_page.run(script, sentences, describe("chunks", *labels))
    ):
        begins = [i for i, names in enumerate(classes) if "span-begins" in names]
        ends = [i + 1 for i, names in enumerate(classes) if "span-ends" in names]
        expected = [(chunk.start, chunk.end) for chunk in chunks_of(tags)]
        assert list(zip(begins, ends)) == expected, tags
        inside = {i for i, names in enumerate(classes) if "span" in names}
        assert inside == {i for start, end in expected for i in range(start, end)}


@pytest.fixture
def open_from(browser):
    """`open_from(address)`: the page from a server whose answers are not those of a model."""
    yield lambda address: browser.driver.get(address)
    browser.errors(), browser.requested()


def error_of(browser):
    """The error that the page shows; waits for it."""
    browser.wait_until("!document.getElementById('error').hidden")
    return browser.one("#error").text


def test_a_server_that_is_gone_is_reported(browser, open_from):
    with served_with([GOOD]) as address:
        open_from(address)
        browser.wait_until("document.querySelector('#example-list button')")
    browser.all("#example-list button")[0].click()
    assert error_of(browser) == "The server does not answer. Is it still running?"


@pytest.mark.parametrize(
    "answers, message",
    [
        ([], "The server answered with status 501"),
        ([{**GOOD, "task": "constructor"}], "It answered with something else. This page"),
    ],
)
def test_a_server_that_does_not_describe_a_model_is_reported(browser, open_from, answers, message):
    with served_with(answers) as address:
        open_from(address)
        text = error_of(browser)
    assert text.startswith("The server does not say what its model does: ") and message in text
    assert not browser.one("#form").is_displayed()


@pytest.mark.parametrize("answer", [None, {"tokens": ["a"], "trace": {}}])
def test_unexpected_examples_and_answers_are_reported(browser, open_from, answer):
    with served_with([GOOD, answer], '{"tags": [{"sentence": 1}]}') as address:
        open_from(address)
        text = error_of(browser)
        assert text.startswith("The examples cannot be shown. examples.json: ")
        browser.one("#sentence").send_keys("a")
        browser.one("#submit").click()
        message = "The server's answer is not what this page expects"
        browser.wait_until(
            "document.getElementById('error').textContent.startsWith(given[0])", message
        )
    assert not browser.one("#result").is_displayed()
    assert browser.one("#form").get_attribute("aria-busy") is None
