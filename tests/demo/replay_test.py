"""What the page shows of answers that the small models do not give."""

import random

import pytest

from allennlp_nef.data.formats.chunks import chunks_of
from tests.demo.conftest import ROOT

pytestmark = pytest.mark.browser

SHOW = (
    "const div = document.createElement('div'); document.body.replaceChildren(div); "
    "Replay.show(div, arguments[0], arguments[1]);"
)


def describe(task, *labels, step_name="step"):
    colours = {label: f"#{i:06x}" for i, label in enumerate(labels)}
    return {"task": task, "labels": labels, "colours": colours, "step_name": step_name}


def test_a_model_without_steps(open_page):
    browser = open_page("word_qe")
    answer = {
        "tokens": ["ein", "Haus"],
        "tags": ["BAD", "OK"],
        "bad_probabilities": [0.75, 0.25],
        "source": ["a", "house"],
        "alignments": [[1, 1]],
        "trace": None,
    }
    browser.run(SHOW, answer, describe("word_qe", "OK", "BAD"))
    assert browser.texts(".chip .tag") == ["BAD", "OK"]
    assert browser.texts(".chip .probability") == ["0.75", "0.75"]
    assert browser.texts(".chip .visually-hidden") == [", not aligned", ", aligned with house"]
    assert browser.all(".heat, canvas, input, .play") == []
    assert "no steps to replay" in browser.one(".key").text


def test_gold_tags(open_page):
    browser = open_page("tags")
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
    browser.run(SHOW, answer, describe("tags", "X", "Y", step_name="layer"))
    assert browser.texts(".chip .gold") == ["", "", "gold X"]
    assert browser.texts(".chip.wrong .word") == ["c"]
    assert browser.one(".status").text == (
        "Layer 2 of 2: most attention on “\u2068b\u2069” (0.60). Changed: \u2068b\u2069 X → Y."
    )
    browser.all(".heat tbody tr")[0].click()
    assert browser.texts(".chip .gold") == ["", "gold Y", "gold X"]
    assert browser.one(".status").text == "Layer 1 of 2: most attention on “\u2068a\u2069” (0.50)."
    colours = browser.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.style.getPropertyValue('--tag')))"
    )
    assert colours == [["#000000", "#000000", "#000001"], ["#000000", "#000001", "#000001"]]
    assert browser.texts(".legend li") == ["X", "Y"]


def test_the_bar_of_a_word(open_page):
    """The attention that it has had, with that of the step apart; at most the width of the word."""
    browser = open_page("tags")
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
    browser.run(SHOW, answer, describe("tags", "X"))
    bars = (
        "return [...document.querySelectorAll('.chip')].map((e) => "
        "['--before', '--covered'].map((name) => Number(e.style.getPropertyValue(name))))"
    )
    assert browser.run(bars) == [[0.25, 1], [0.25, 0.5]]
    browser.all(".heat tbody tr")[0].click()
    assert browser.run(bars) == [[0, 0.75], [0, 0.25]]
    # As wide as the share of the word that it covers.
    width = browser.run(
        "const e = document.querySelectorAll('.chip')[1]; "
        "return parseFloat(getComputedStyle(e, '::before').width) / e.clientWidth"
    )
    assert width == pytest.approx(0.25, abs=0.01)


def test_layers(open_page):
    """Of label attention: no attention from word to word, but the probabilities of each layer."""
    browser = open_page("tags")
    table = [[0.5, 0.25], [0.75, 1.0]]
    answer = {
        "tokens": ["a", "b"],
        "tags": ["Y", "X"],
        "probabilities": [0.75, 1.0],
        "trace": {
            "attention": None,
            "coverage": None,
            "provisional_tags": [["X", "X"], ["Y", "X"]],
            "provisional_probabilities": table,
            "settled_at": [2, 1],
        },
    }
    browser.run(SHOW, answer, describe("tags", "X", "Y", step_name="layer"))
    weights = browser.run(
        "return [...document.querySelectorAll('.heat td[data-weight]')].map((e) => Number(e.dataset.weight))"
    )
    assert weights == [weight for row in table for weight in row]
    assert browser.one(".status").text == "Layer 2 of 2. Changed: \u2068a\u2069 X → Y."
    assert "probability" in browser.one(".heat caption").get_attribute("textContent").lower()


def test_words_that_attend_to_words(open_page):
    """Of position-aware self-attention: a row a word, and how much of itself it keeps."""
    browser = open_page("tags")
    answer = {
        "tokens": ["a", "b"],
        "tags": ["Y", "X"],
        "probabilities": [0.75, 1.0],
        "trace": {"attention": [[0.0, 1.0], [1.0, 0.0]], "gates": [0.25, 0.5]},
    }
    browser.run(SHOW, answer, describe("tags", "X", "Y", step_name="word"))
    assert browser.texts(".heat tbody th") == ["a", "b"]
    assert browser.texts(".chip .tag") == ["Y", "X"]
    browser.all(".heat tbody tr")[0].click()
    assert browser.one(".status").text == (
        "Word 1 of 2 (“\u2068a\u2069”, which keeps 0.25 of itself): most attention on “\u2068b\u2069” (1.00)."
    )
    assert browser.all(".settled") == []
    assert "the attention it gets from the word at hand" in browser.texts(".key")[-1]


def test_a_word_with_nobody_to_attend_to(open_page):
    browser = open_page("tags")
    trace = {"attention": [[0.0]], "gates": [0.5]}
    answer = {"tokens": ["a"], "tags": ["X"], "probabilities": [1.0], "trace": trace}
    browser.run(SHOW, answer, describe("tags", "X", step_name="word"))
    assert browser.one(".status").text == (
        "Word 1 of 1 (“\u2068a\u2069”, which keeps 0.50 of itself)."
    )


def test_chunks_are_those_of_conlleval(open_page):
    """Whatever the tags, well-formed or not."""
    browser = open_page("chunks")
    chance = random.Random(5)
    labels = ["O", *(f"{prefix}-{kind}" for prefix in "BIOULES".replace("O", "") for kind in "XY")]
    for _ in range(60):
        tags = chance.choices(labels, k=chance.randint(1, 12))
        answer = {
            "tokens": tags,
            "tags": tags,
            "probabilities": [1.0] * len(tags),
            "spans": [],
            "trace": None,
        }
        browser.run(SHOW, answer, describe("chunks", *labels))
        classes = browser.run(
            "return [...document.querySelectorAll('.chip')].map((e) => [...e.classList])"
        )
        begins = [i for i, names in enumerate(classes) if "span-begins" in names]
        ends = [i + 1 for i, names in enumerate(classes) if "span-ends" in names]
        expected = [(chunk.start, chunk.end) for chunk in chunks_of(tags)]
        assert list(zip(begins, ends)) == expected, tags
        inside = {i for i, names in enumerate(classes) if "span" in names}
        assert inside == {i for start, end in expected for i in range(start, end)}


def test_a_server_that_is_gone(browser, serve, archive_path, tmp_path):
    with serve(tmp_path, archive_path, "word_qe", "--static-dir", "demo") as (process, port):
        browser.driver.get(f"http://127.0.0.1:{port}/")
        browser.wait(lambda: browser.all("#example-list button"))
        process.kill()
        process.wait()
        browser.all("#example-list button")[0].click()
        browser.wait(lambda: browser.one("#error").is_displayed())
        assert browser.one("#error").text == "The server does not answer. Is it still running?"
    assert all("ERR_CONNECTION_REFUSED" in message for message in browser.errors())
    browser.requested()


def test_a_server_without_a_model_of_ours(browser):
    """Any server of static files: it answers no requests."""
    import functools
    import http.server
    import threading

    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(ROOT / "demo"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        browser.driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
        browser.wait(lambda: browser.one("#error").is_displayed())
        text = browser.one("#error").text
        assert text.startswith("The server does not say what its model does: The server answered")
        assert "status 501" in text and text.endswith("nef_tagger or word_qe.")
        assert not browser.one("#form").is_displayed()
    finally:
        server.shutdown()
        server.server_close()
    browser.errors(), browser.requested()


@pytest.fixture
def served_with(browser, tmp_path):
    """`served_with(answers, examples)`: the page from a server that gives those answers to `/predict`, in turn."""
    import functools
    import http.server
    import json
    import shutil
    import threading

    for path in (ROOT / "demo").iterdir():
        if path.is_file():
            shutil.copy(str(path), str(tmp_path))
    answers = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(answers.pop(0)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Nothing is printed."""

    handler = functools.partial(Handler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def open_page(given, examples=None):
        answers.extend(given)
        if examples is not None:
            (tmp_path / "examples.json").write_text(examples)
        browser.driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
        return browser

    yield open_page
    server.shutdown()
    server.server_close()
    browser.errors(), browser.requested()


GOOD = {**describe("tags", "X"), "title": "T", "max_tokens": 9, "max_batch": 9}


@pytest.mark.parametrize(
    "answer", [None, {}, {**GOOD, "task": "constructor"}, {**GOOD, "labels": "X"}]
)
def test_odd_descriptions(served_with, answer):
    browser = served_with([answer])
    browser.wait(lambda: browser.one("#error").is_displayed())
    assert "does not say what its model does: It answered with something else. This page" in (
        browser.one("#error").text
    )


@pytest.mark.parametrize("examples", ["{", "[]", '{"tags": [null]}', '{"tags": [{"sentence": 1}]}'])
def test_odd_examples(served_with, examples):
    browser = served_with([GOOD], examples)
    if examples == "[]":  # none for this task
        browser.wait(lambda: browser.one("#form").is_displayed())
        assert not browser.one("#examples").is_displayed()
        return
    browser.wait(lambda: browser.one("#error").is_displayed())
    assert browser.one("#error").text.startswith("The examples cannot be shown. examples.json: ")
    assert browser.one("#form").is_displayed()


@pytest.mark.parametrize(
    "answer", [None, {}, [], {"tokens": ["a"]}, {"tokens": ["a"], "trace": {}}]
)
def test_odd_answers(served_with, answer):
    browser = served_with([GOOD, answer])
    browser.wait(lambda: browser.one("#form").is_displayed())
    browser.one("#sentence").send_keys("a")
    browser.one("#submit").click()
    browser.wait(lambda: browser.one("#error").is_displayed())
    assert browser.one("#error").text.startswith(
        "The server's answer is not what this page expects"
    )
    assert not browser.one("#result").is_displayed()
    assert browser.one("#form").get_attribute("aria-busy") is None
