"""The page of `allennlp-nef serve` and the replay, in Chromium."""

import pytest

from allennlp_nef.pages.document import page_of
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from allennlp_nef.qe.predictor import WordQePredictor
from tests.figures.answers import DESCRIPTION, answer_of
from tests.pages.conftest import served
from tests.predictors import small_models
from tests.qe import small_qe

pytestmark = pytest.mark.browser
MARKUP = "<b>x</b></script><script>document.title='run'</script>"
READY = "document.querySelector('#example-list button')"
ANSWERED = "document.querySelector('#result:not([hidden]) .chip')"


def test_quality_estimation_from_the_form_to_the_moved_threshold(page):
    predictor = WordQePredictor(*small_qe.train())
    with served(predictor) as address:
        page.open(address)
        page.wait_until(READY)
        assert page.driver.title == "Word-level quality estimation"
        for name, text in (
            ("source", "the dog"),
            ("target", f"der {MARKUP}"),
            ("alignments", "0-0"),
        ):
            page.one(f"#{name}").send_keys(text)
        page.one("#submit").click()
        page.wait_until(ANSWERED)
        answer = predictor.predict("the dog", f"der {MARKUP}", "0-0")
        assert page.texts(".chip .word") == answer["tokens"]
        assert page.texts(".chip .tag") == answer["tags"]
        assert page.texts(".chip .probability") == [f"{p:.2f}" for p in answer["bad_probabilities"]]
        assert len(page.texts(".heat tbody tr")) == 3 and page.driver.title != "run"
        words = len(answer["tokens"])
        assert len(page.texts(".unaligned")) == words and page.texts(".source li") == ["the", "dog"]
        page.hover(".chip")
        assert page.texts(".source .lit") == ["the"]
        page.set(".threshold input", "0.01")
        assert set(page.texts(".chip .tag")) == {"BAD"}
        assert f"0.01. {words} of {words} words are BAD." in page.texts(".threshold output")
        page.one(".threshold button").click()
        assert page.texts(".chip .tag") == answer["tags"]


def test_a_multilingual_estimator_shows_examples_in_its_languages_and_no_alignments(
    page, monkeypatch
):
    predictor = WordQePredictor(*small_qe.train())
    description = {"fields": ["source", "target"], "pretrained_encoder": "multilingual-e5-small"}
    description = {**predictor.description(), **description}
    monkeypatch.setattr(predictor, "description", lambda: description)
    monkeypatch.setattr(predictor._dataset_reader, "aligner", None)
    with served(predictor) as address:
        page.open(address)
        page.wait_until(READY)
        assert page.texts("textarea") == ["", ""] and page.texts("label") == [
            "Source",
            "Translation",
        ]
        examples = page.texts("#example-list span")
        assert len(examples) == 10 and "湖里的水很热。" in examples
        page.one("#example-list button").click()
        page.wait_until(ANSWERED)
        assert page.texts("#answer .note") == []


def test_entities_and_an_error_at_its_field_on_a_narrow_screen(page):
    with served(NefTaggerPredictor(*small_models.train("ner"))) as address:
        page.open(address, width=320)
        page.wait_until(READY)
        page.one("#submit").click()
        page.wait_until("!document.getElementById('error').hidden")
        assert page.one("#error").text.startswith("Sentence: ")
        assert page.one("#sentence").get_attribute("aria-invalid") == "true"
        assert page.one("#sentence").accessible_name == "Sentence"
        page.one("#sentence").send_keys("Anna Berg met officials in Rome .")
        page.one("#submit").click()
        page.wait_until(ANSWERED)
        assert page.one("#error").get_attribute("hidden") and page.texts(".chip.span-ends")
        assert page.run("return document.documentElement.scrollWidth") <= 320


def test_the_replay_in_one_file(page, tmp_path):
    from selenium.webdriver.common.keys import Keys

    words = ["الرجل", MARKUP, "الشاي"]
    steps = [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]
    answer = answer_of(words, steps, ["NVP", "NNP"], gold=[None, "N", "V"])
    path = tmp_path / "page.html"
    path.write_text(page_of(DESCRIPTION, [answer, answer]), encoding="utf-8")
    page.open(path.as_uri())
    page.wait_until("document.querySelector('.heat')")
    assert page.texts(".chip .word") == words and page.driver.title != "run"
    assert page.texts(".chip.wrong .gold") == ["gold V"]
    assert "Step 2 of 2: most attention on “\u2068الشاي\u2069” (0.70)" in page.one(".status").text
    page.one(".heat tbody tr").click()
    assert page.texts(".chip .tag") == ["N", "V", "P"]
    assert len(page.texts("[aria-current=step]")) == 1
    # The left arrow goes to the next word of a text that is read from right to left.
    page.run("document.querySelector('.chip').focus()")
    page.press(Keys.ARROW_LEFT)
    assert page.run("return document.activeElement.querySelector('.word').textContent") == MARKUP
    assert page.texts(".heat thead .lit") == [MARKUP]
    page.one(".play").click()
    page.wait_until("document.querySelector('.status').textContent.startsWith('Step 2')")
    assert page.texts(".chip .tag") == ["N", "N", "P"]
    page.set("#sentence", "1")
    assert page.texts(".heat thead .word") == words
