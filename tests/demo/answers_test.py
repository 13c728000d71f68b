"""The page in Chromium for models without tags: trees, classes and scores."""

from contextlib import ExitStack

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader

from allennlp_nef.predictors import DependencyParserPredictor, SentencePairPredictor
from tests.demo.actions import click_example, send, submit
from tests.demo.conftest import NARROW, WIDE
from tests.demo.server import served
from tests.small_experiment import ROOT, config_of, experiment

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def predictors(tmp_path_factory):
    """The predictors of a parser with steps, and of a model of relatedness, without training."""
    found = {}
    kinds = {
        "parse_arc_mlp_nef_f": DependencyParserPredictor,
        "sick_relatedness_lstm": SentencePairPredictor,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name, predictor in kinds.items():
            torch.manual_seed(0)
            model = experiment(config_of(name), tmp_path_factory.mktemp(name), 60).model.eval()
            reader = DatasetReader.from_params(Params(config_of(name)["validation_dataset_reader"]))
            found[name] = predictor(model, reader)
    return found


@pytest.fixture
def page_of(browser, predictors):
    """`page_of(name, size)`: the page of a predictor, ready."""
    browser.errors()
    with ExitStack() as stack:

        def open_page(name, size=WIDE):
            browser.resize(size)
            browser.driver.get(stack.enter_context(served(predictors[name])))
            browser.wait_until("document.querySelector('#example-list button')")
            return browser

        yield open_page


def rows_of(browser):
    """The cells of the table."""
    return browser.run(
        "return [...document.querySelectorAll('.facts tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_tree_has_an_arc_for_each_word_and_its_table_has_the_answer(page_of, predictors, size):
    name = "parse_arc_mlp_nef_f"
    browser = page_of(name, size)
    click_example(browser, 1)
    words, tags = (
        ["Elle", "ferme", "la", "petite", "porte", "."],
        ["PRON", "VERB", "DET", "ADJ", "NOUN", "PUNCT"],
    )
    answer = predictors[name].predict_json({"sentence": words, "tags": tags, "trace": True})
    assert browser.texts(".tree .word") == words and browser.texts(".tree .pos") == tags
    assert browser.texts(".arc text") == answer["labels"]
    numbers = ("head_probabilities", "label_probabilities")
    assert rows_of(browser) == [
        [str(i + 1), words[i], tags[i], f"{head} {words[head - 1]}" if head else "root"]
        + [answer["labels"][i], *(f"{answer[key][i]:.2f}" for key in numbers)]
        + [str(answer["head_steps"][i])]
        for i, head in enumerate(answer["heads"])
    ]
    unsure = browser.run(
        "return [...document.querySelectorAll('.arc')].map((e) => e.classList.contains('unsure'))"
    )
    assert unsure == [value < 0.5 for value in answer["head_probabilities"]]
    # Each arrow ends above its word; the root is the only word without a curve.
    ends = browser.run(
        "return [...document.querySelectorAll('.arc .tip')].map((e) => e.getBBox().x + 4)"
    )
    places = browser.run(
        "return [...document.querySelectorAll('.tree .word')].map((e) => Number(e.getAttribute('x')))"
    )
    assert ends == pytest.approx(places, abs=0.01)
    curves = browser.run(
        "return [...document.querySelectorAll('.arc path:first-of-type')].map((e) => e.getAttribute('d').includes('C'))"
    )
    assert curves == [head > 0 for head in answer["heads"]]
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    assert browser.errors() == []


def test_a_tree_shows_markup_as_text_and_runs_in_the_direction_of_its_words(page_of):
    browser = page_of("parse_arc_mlp_nef_f")
    words = ["<b>x</b>", "قال", "محمد"]
    submit(browser, sentence=" ".join(words[1:]), tags="VERB PROPN")
    first, second = browser.run(
        "return [...document.querySelectorAll('.tree .word')].map((e) => Number(e.getAttribute('x')))"
    )
    assert first > second
    submit(browser, sentence=" ".join(words[:1]), tags="NOUN")
    assert browser.texts(".tree .word") == words[:1]
    assert browser.all("#result b") == []
    send(browser, sentence="a b", tags="NOUN")
    browser.wait_until("!document.getElementById('error').hidden")
    assert browser.texts("#error") == ["Tags: expected 2 tags, one a word, got 1."]
    assert browser.one("#tags").get_attribute("aria-invalid") == "true"
    assert all("status of 400" in message for message in browser.errors())


def test_a_tree_without_tags_has_no_row_and_no_column_for_them(page_of):
    browser = page_of("parse_arc_mlp_nef_f")
    numbers = {"head_probabilities": [0.9, 0.8], "label_probabilities": [1, 0.7]}
    answer = {
        "words": ["It", "works"],
        "tags": ["_", "_"],
        "heads": [2, 0],
        "labels": ["a", "root"],
    }
    browser.run(
        "Answers.show(document.getElementById('replay'), arguments[0])", {**answer, **numbers}
    )
    assert browser.all(".tree .pos") == []
    assert rows_of(browser) == [
        ["1", "It", "2 works", "a", "0.90", "1.00"],
        ["2", "works", "root", "root", "0.80", "0.70"],
    ]


def test_a_pair_has_its_score_and_the_probabilities(page_of, predictors):
    name = "sick_relatedness_lstm"
    browser = page_of(name)
    submit(browser, first="A man sleeps", second="A <i>man</i> is awake")
    answer = predictors[name].predict("A man sleeps", "A <i>man</i> is awake")
    assert browser.texts(".answer") == [f"Score {answer['score']:.2f}"]
    shown = [[each, f"{value:.2f}"] for each, value in answer["probabilities"].items()]
    assert rows_of(browser) == shown
    assert browser.errors() == []
