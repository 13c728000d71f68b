"""The page that `allennlp plot-sketches --html` writes, opened from disk; and traces in a notebook."""

import json
import re

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def page(allennlp, archive_path, tmp_path):
    """The page of two sentences, one with markup, from one model given twice; and the data in it."""
    requests = [
        {"source": "a cup", "target": ["eine", "</script><img", "src=x", "onerror=alert(1)>"]},
        {"source": "the red house", "target": "das rote Haus", "alignments": "0-0 1-1 2-2"},
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(json.dumps(request) + "\n" for request in requests))
    options = ("--output", tmp_path / "plots", "--html", "--compare", archive_path)
    allennlp("plot-sketches", archive_path, path, *options, "--format", "png")
    html = tmp_path / "plots" / "index.html"
    data = re.search('id="page-data">(.*)</script>', html.read_text(encoding="utf-8")).group(1)
    return html, json.loads(data)["models"]


def test_written_page_shows_each_model_and_asks_no_server(page, browser):
    path, models = page
    browser.errors(), browser.requested()
    browser.resize((1100, 800))
    browser.driver.get(path.as_uri())
    assert [len(model["sentences"]) for model in models] == [2, 2]
    assert browser.texts("h2") == [model["description"]["title"] for model in models]
    previous, following = browser.all(".chooser button")
    for index in (0, 1):
        answers = [model["sentences"][index] for model in models]
        words = [token for answer in answers for token in answer["tokens"]]
        assert browser.texts(".chip .word") == words
        assert browser.texts(".chip .tag") == [tag for answer in answers for tag in answer["tags"]]
        cells = browser.run(
            "return [...document.querySelectorAll('.heat td[data-weight]')].map((e) => Number(e.dataset.weight))"
        )
        weights = [w for answer in answers for row in answer["trace"]["attention"] for w in row]
        assert cells == weights
        assert (previous.is_enabled(), following.is_enabled()) == (index > 0, index < 1)
        if index == 0:
            following.click()
    # A step that is chosen for one model is shown for all.
    browser.all(".heat")[1].find_elements("css selector", "tbody tr")[0].click()
    assert [e.get_attribute("value") for e in browser.all(".controls input")] == ["1", "1"]
    previous.click()
    assert browser.run("return document.activeElement.textContent") == "Next"
    assert len(browser.all("select option")) == 2 and not browser.all("img")
    assert browser.errors() == []
    assert {url for url in browser.requested() if not url.startswith("data:")} == {path.as_uri()}


def test_traces_on_one_page_replay_their_own_sentences(word_qe, browser, tmp_path):
    predictor = word_qe()
    targets = [["das", "</iframe><img"], ["rote", "&quot;", "Haus"]]
    traces = [predictor.trace(["the", "red", "house"], target) for target in targets]
    path = tmp_path / "notebook.html"
    frames = "".join(trace._repr_html_() for trace in traces)
    path.write_text(f'<!doctype html><meta charset="utf-8">{frames}', encoding="utf-8")
    browser.errors(), browser.requested()
    browser.driver.get(path.as_uri())
    for number, (target, trace) in enumerate(zip(targets, traces)):
        browser.driver.switch_to.frame(number)
        assert browser.texts(".chip .word") == target
        # A click of the mouse may come before a frame is drawn.
        browser.run("document.querySelector('.heat tbody tr').click()")
        assert browser.one(".controls input").get_attribute("value") == "1"
        assert browser.texts(".chip .tag") == trace.provisional_tags[0]
        assert not browser.one(".chooser").is_displayed()
        browser.driver.switch_to.default_content()
    assert not browser.all("img")
    assert browser.errors() == []
    assert {url for url in browser.requested() if not url.startswith("data:")} == {path.as_uri()}
