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
        "trace": {
            "attention": [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]],
            "provisional_tags": [["X", "X", "Y"], ["X", "Y", "Y"]],
            "provisional_probabilities": [[0.5, 0.5, 0.5], [0.9, 0.8, 0.7]],
            "settled_at": [1, 2, 1],
        },
    }
    browser.run(SHOW, answer, describe("tags", "X", "Y", step_name="layer"))
    assert browser.texts(".chip .gold") == ["", "", "gold X"]
    assert browser.texts(".chip.wrong .word") == ["c"]
    assert browser.one(".status").text == (
        "Layer 2 of 2: most attention on “b” (0.60). Changed: b X → Y."
    )
    browser.all(".heat tbody tr")[0].click()
    assert browser.texts(".chip .gold") == ["", "gold Y", "gold X"]
    assert browser.one(".status").text == "Layer 1 of 2: most attention on “a” (0.50)."
    colours = browser.run(
        "return [...document.querySelectorAll('.heat tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.style.getPropertyValue('--tag')))"
    )
    assert colours == [["#000000", "#000000", "#000001"], ["#000000", "#000001", "#000001"]]
    assert browser.texts(".legend li") == ["X", "Y"]


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
