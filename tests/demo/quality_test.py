"""What the page shows of quality estimation: alignments, probabilities of BAD, and a threshold that can be moved."""

import json

import pytest

from tests.demo.actions import describe, send, show, wait_for_result
from tests.demo.conftest import NARROW
from tests.demo.server import served_with

pytestmark = pytest.mark.browser

DESCRIPTION = {
    **describe("word_qe", "OK", "BAD"),
    "title": "T",
    "max_tokens": 9,
    "max_batch": 9,
    "threshold": 0.2,
    "has_aligner": True,
    "examples": [{"source": ["a", "house"], "target": "ein Haus", "alignments": [[0, 0], [1, 1]]}],
}
# The model tags a word BAD whose probability of BAD is at least 0.2.
ANSWER = {
    "tokens": ["das", "rote", "Haus"],
    "tags": ["OK", "BAD", "BAD"],
    "bad_probabilities": [0.1, 0.3, 0.8],
    "threshold": 0.2,
    "source": ["the", "house"],
    "alignments": [[0, 0], [1, 2]],
    "alignments_from": "given",
    "trace": {
        "attention": [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]],
        "coverage": [[0.5, 0.25, 0.25], [0.6, 0.85, 0.55]],
        "provisional_tags": [["OK", "BAD", "OK"], ["OK", "BAD", "BAD"]],
        "provisional_probabilities": [[0.95, 0.6, 0.9], [0.9, 0.3, 0.8]],
        "settled_at": [1, 1, 2],
    },
}


def move(page, value):
    """Moves the slider of the threshold."""
    page.run(
        "const slider = document.querySelector('.threshold input'); slider.value = arguments[0]; "
        "slider.dispatchEvent(new Event('input'))",
        value,
    )


def settled(page):
    """For each step, the words whose tag does not change any more from there on."""
    return page.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].flatMap((cell, i) => cell.classList.contains('settled') ? [i] : []))"
    )


def colors(page):
    return page.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.style.getPropertyValue('--tag')).join(' '))"
    )


def test_threshold_moves_all_tags_and_not_the_probabilities(replay_page):
    show(replay_page, ANSWER, DESCRIPTION)
    ok, bad = DESCRIPTION["colours"]["OK"], DESCRIPTION["colours"]["BAD"]
    assert replay_page.one(".threshold output").text == "0.20, the model's. 2 of 3 words are BAD."
    assert replay_page.texts(".chip .tag") == ["OK", "BAD", "BAD"]
    assert settled(replay_page) == [[0, 1], [2]]
    reset = replay_page.one(".threshold button")
    assert not reset.is_enabled()

    move(replay_page, 0.5)
    assert replay_page.one(".threshold output").text == "0.50. 1 of 3 words are BAD."
    assert replay_page.texts(".chip .tag") == ["OK", "OK", "BAD"]
    assert replay_page.texts(".chip .probability") == ["0.10", "0.30", "0.80"]
    assert colors(replay_page) == [f"{ok} {bad} {ok}", f"{ok} {ok} {bad}"]
    assert settled(replay_page) == [[0], [1, 2]]
    assert "rote\u2069 BAD → OK" in replay_page.one(".status").text
    assert replay_page.texts(".heat tbody tr:last-child .visually-hidden")[1] == " OK, final"
    # Of the steps before, too.
    replay_page.all(".heat tbody tr")[0].click()
    assert replay_page.texts(".chip .tag") == ["OK", "BAD", "OK"]
    assert replay_page.texts(".chip .probability") == ["0.05", "0.60", "0.10"]
    move(replay_page, 0.1)
    assert replay_page.texts(".chip .tag") == ["OK", "BAD", "BAD"]
    assert replay_page.one(".threshold output").text == "0.10. 3 of 3 words are BAD."

    reset.click()
    replay_page.all(".heat tbody tr")[1].click()
    assert replay_page.texts(".chip .tag") == ANSWER["tags"]
    assert settled(replay_page) == [[0, 1], [2]]
    assert replay_page.one(".threshold output").text == "0.20, the model's. 2 of 3 words are BAD."


def test_error_spans_have_their_severity(replay_page):
    span = {"start": 4, "end": 8, "text": "rote", "severity": "major", "probability": 0.8}
    show(replay_page, {**ANSWER, "spans": [span]}, DESCRIPTION)
    assert replay_page.texts(".spans li") == ["rote major 0.80"]


def test_tags_that_come_from_no_threshold_stay_until_it_is_moved(replay_page):
    """As those of a CRF, or from a server that does not tell its threshold."""
    for answer in (
        {**ANSWER, "threshold": None},
        {k: ANSWER[k] for k in ANSWER if k != "threshold"},
    ):
        show(
            replay_page, {**answer, "tags": ["BAD", "OK", "OK"]}, {**DESCRIPTION, "threshold": None}
        )
        assert replay_page.texts(".chip .tag") == ["BAD", "OK", "OK"]
        assert (
            replay_page.one(".threshold output").text == "the model's tags. 1 of 3 words are BAD."
        )
        move(replay_page, 0.3)
        assert replay_page.texts(".chip .tag") == ["OK", "BAD", "BAD"]


def test_threshold_works_by_keyboard_and_without_steps(replay_page):
    from selenium.webdriver.common.keys import Keys

    show(replay_page, {**ANSWER, "trace": None}, DESCRIPTION)
    slider, button = (replay_page.one(f".threshold {name}") for name in ("input", "button"))
    assert slider.accessible_name.startswith("Threshold of BAD")
    replay_page.run("arguments[0].focus()", slider)
    replay_page.press(*[Keys.ARROW_RIGHT] * 11)
    assert replay_page.texts(".chip .tag") == ["OK", "OK", "BAD"]
    assert slider.get_attribute("aria-valuetext") == "0.31; 1 of 3 words are BAD"
    replay_page.press(Keys.END)
    assert replay_page.texts(".chip .tag") == ["OK", "OK", "OK"]
    assert slider.get_attribute("aria-valuetext").startswith("0.99;")
    replay_page.press(Keys.HOME)
    assert slider.get_attribute("aria-valuetext").startswith("0.01;")
    replay_page.press(Keys.TAB, Keys.ENTER)
    assert replay_page.texts(".chip .tag") == ANSWER["tags"]
    assert replay_page.driver.switch_to.active_element == slider and not button.is_enabled()


COMPUTED = "No alignments were given: they were computed by the model's aligner."
NONE = "No alignments were given, and the model has no aligner: the source is not used for these words."
DOTTED = "A dotted line below a word"
ACCEPTED = "Free of errors: 60%, needs no reviewer."
ADAPTED = "The probabilities were adapted to data in which 12.5% of the words are BAD."


@pytest.mark.parametrize(
    ("changes", "notes", "unaligned"),
    [
        ({"alignments_from": "given"}, [DOTTED], ["rote"]),
        ({"alignments_from": "computed"}, [COMPUTED, DOTTED], ["rote"]),
        ({"alignments_from": "none", "alignments": []}, [NONE], ["the", "house", *ANSWER["tokens"]]),
        ({"alignments": [[0, 0], [0, 1], [1, 2]]}, [], []),
        # An earlier server.
        ({"alignments_from": None, "alignments": [[1, 2]]}, [DOTTED], ["the", "das", "rote"]),
        ({"base_rate": 0.125}, [DOTTED, ADAPTED], ["rote"]),
        ({"error_free_probability": 0.05, "accept": False}, ["Free of errors: 5%.", DOTTED], ["rote"]),
        ({"error_free_probability": 0.6, "accept": True}, [ACCEPTED, DOTTED], ["rote"]),
    ],
)  # fmt: skip
def test_notes_say_where_alignments_are_from_and_mark_unaligned_words(
    replay_page, changes, notes, unaligned
):
    show(replay_page, {**ANSWER, **changes}, DESCRIPTION)
    shown = replay_page.texts(".note")
    assert len(shown) == len(notes)
    assert all(text.startswith(note) for text, note in zip(shown, notes))
    assert replay_page.texts(".unaligned bdi") == unaligned
    for text in replay_page.texts(".chip.unaligned, .source .unaligned"):
        assert text.endswith(", not aligned")
    styles = replay_page.run(
        "return [...document.querySelectorAll('.unaligned bdi')].map((e) => "
        "getComputedStyle(e).textDecorationStyle)"
    )
    assert set(styles) <= {"dotted"}


def test_computed_alignments_have_dashed_frames(replay_page):
    outline = "return getComputedStyle(document.querySelector('.source .lit')).outlineStyle"
    for how, style in (("given", "none"), ("computed", "dashed")):
        show(replay_page, {**ANSWER, "alignments_from": how}, DESCRIPTION)
        replay_page.run("document.querySelector('.chip').focus()")
        assert replay_page.run(outline) == style
        text = replay_page.texts(".chip")[0]
        word = "computed to be aligned" if how == "computed" else "aligned"
        assert text.endswith(f", {word} with the")


def test_uncertain_words_of_other_taggers_are_marked(replay_page):
    answer = {
        "tokens": ["a", "b"],
        "tags": ["X", "X"],
        "probabilities": [0.9, 0.3],
        "uncertain": [1],
        "trace": None,
    }
    show(replay_page, answer, describe("tags", "X"))
    assert replay_page.texts(".chip.uncertain .word") == ["b"]
    assert replay_page.texts(".note") == ["A wavy line below a tag: it is uncertain."]
    assert replay_page.all(".threshold") == []


def test_tags_of_the_last_step_are_those_of_the_answer(replay_page):
    """Chunks of a low probability may be left out of the answer, but are in the trace."""
    answer = {
        "tokens": ["a"],
        "tags": ["O"],
        "probabilities": [0.6],
        "spans": [],
        "trace": {
            "attention": [[0.5], [0.5]],
            "coverage": [[0.5], [1.0]],
            "provisional_tags": [["B-X"], ["B-X"]],
            "provisional_probabilities": [[0.4], [0.4]],
            "settled_at": [1],
        },
    }
    show(replay_page, answer, describe("chunks", "O", "B-X"))
    assert replay_page.texts(".chip .tag") == ["O"]
    assert replay_page.texts(".chip .probability") == ["0.60"]


def test_alignments_are_sent_only_where_they_are_typed(browser):
    with served_with([DESCRIPTION, ANSWER, ANSWER, ANSWER]) as address:
        browser.resize(NARROW)
        browser.driver.get(address)
        browser.wait_until("document.querySelector('#example-list button')")
        assert "the model's aligner computes them" in browser.one("#alignments-hint").text
        browser.run(
            "window.sent = []; const ask = window.fetch; "
            "window.fetch = (url, options) => { window.sent.push(options.body); return ask(url, options); }"
        )
        browser.all("#example-list button")[0].click()
        wait_for_result(browser)
        for alignments in (" ", "0-0"):
            send(browser, source="a", target="b", alignments=alignments)
            wait_for_result(browser)
        sent = [json.loads(body) for body in browser.run("return window.sent")]
        assert browser.run("return document.documentElement.scrollWidth") <= NARROW[0]
    request = {"trace": True, "source": "a", "target": "b"}
    example = {"trace": True, "source": "a house", "target": "ein Haus", "alignments": "0-0 1-1"}
    assert sent == [example, request, {**request, "alignments": "0-0"}]
    assert browser.errors() == []


@pytest.mark.parametrize(
    "tagged, tokens, target, headings, titles, unit",
    [
        (
            "source",
            ["the", "house"],
            ["das", "rote", "Haus"],
            ["Translation", "Source"],
            ["Aligned with das", "Aligned with Haus"],
            "words",
        ),
        (
            "target_and_gaps",
            ["<gap>", "Haus", "<gap>"],
            ["Haus"],
            ["Source", "Translation and gaps"],
            ["Aligned with the house"] * 3,
            "words and gaps",
        ),
        (
            "gaps",
            ["Haus", "<EOS>"],
            ["Haus"],
            ["Source", "Translation"],
            ["Aligned with the house", "Not aligned"],
            "gaps",
        ),
    ],
)
def test_alignments_are_with_what_is_tagged(
    replay_page, tagged, tokens, target, headings, titles, unit
):
    answer = {
        **ANSWER,
        "tagged": tagged,
        "tokens": tokens,
        "target": target,
        "tags": ["OK"] * len(tokens),
        "bad_probabilities": [0.1] * len(tokens),
        "alignments": [[0, 0], [1, len(target) - 1]],
        "trace": None,
    }
    show(replay_page, answer, DESCRIPTION)
    assert replay_page.texts("h3")[:2] == headings
    assert (
        replay_page.run("return [...document.querySelectorAll('.chip')].map((e) => e.title)")
        == titles
    )
    output = replay_page.one(".threshold output").text
    assert output == f"0.20, the model's. 0 of {len(tokens)} {unit} are BAD."
    assert ("of the gap before it" in replay_page.one("body").text) == (tagged == "gaps")
