"""The report of `allennlp-nef review`, in Chromium: what it shows, keys, progress, exports."""

import json

import pytest

from allennlp_nef.cli.review import review
from allennlp_nef.data.tokenizers import PunctuationTokenizer
from allennlp_nef.qe.bitext.reading import read_bitext
from allennlp_nef.qe.reader import WmtWordQeReader
from allennlp_nef.qe.review.report import report_page
from tests.qe.review.answers import answer, bitext_of

pytestmark = pytest.mark.browser
HTML = "<b>x</b></script><script>document.title='run'</script> &amp;"
LINK = {"alignments": [[2, 2]], "source_offsets": [(0, 1), (2, 5), (6, 9)]}


SENTENCES = [
    ("the house", "das Haus", answer("das Haus", 0.1, 0.2)),
    ("a red cup", "eine rote Tasse", answer("eine rote Tasse", 0.1, 0.5, 0.9, **LINK)),
    (HTML, HTML, answer(HTML, 0.3, 0.45)),
    ("he drinks", "الرجل يشرب الشاي", answer("الرجل يشرب الشاي", 0.1, 0.8, 0.2)),
    ("he drinks tea", "他喝茶 😀 。", answer("他喝茶 😀 。", 0.6, 0.1, 0.1)),
    ("no translation", "", {"error": "empty translation"}),
]


@pytest.fixture
def open_report(page, tmp_path):
    """`open_report(sentences, width)`: the report, ready."""
    path = tmp_path / "report.html"

    def open_report(sentences=SENTENCES, width=1100, bitext=None, answers=None):
        pairs = [(source, target) for source, target, _ in sentences]
        answers = answers or [each for *_, each in sentences]
        text = report_page("a <b>", [bitext or bitext_of(*pairs, path="a.mt")], answers)
        path.write_text(text, encoding="utf-8")
        page.open(path.as_uri(), width)
        page.run("localStorage.clear(); location.reload()")
        page.wait_until("document.querySelector('.card h3')")
        return page

    return open_report


def status(page):
    return page.one(".state").text


def focused(page):
    return page.run("return document.activeElement.querySelector?.('h3')?.textContent")


def exported(page):
    """What the button of export saves."""
    page.run(
        "window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text)); "
        "return 'data:,'; }; HTMLAnchorElement.prototype.click = () => {};"
    )
    page.driver.find_element("xpath", "//button[.='Export decisions']").click()
    page.wait_until("window.saved !== null")
    return page.run("return window.saved")


def test_sentences_are_sorted_by_risk_marked_and_filtered(open_report):
    page = open_report()
    assert page.texts(".card h3") == ["Line 6", "Line 2", "Line 3", "Line 4", "Line 5", "Line 1"]
    marks = ["rote Tasse BAD 0.70", "&amp; BAD 0.45", "يشرب BAD 0.80", "他喝茶 BAD 0.60"]
    assert page.texts(".bad") == marks
    assert page.texts(".card .note") == ["No score: empty translation"]
    assert page.driver.title == page.one("h1").text == "a <b>"
    assert page.run("return document.querySelectorAll('.card b, .card script').length") == 0
    assert page.texts("[data-sentence='4'] .target-text .word") == ["他喝茶", "😀", "。"]
    directions = "return [...document.querySelectorAll('.target-text')].map((e) => getComputedStyle(e).direction)"
    assert page.run(directions) == ["ltr", "ltr", "ltr", "rtl", "ltr", "ltr"]
    page.hover("[data-sentence='1'] .target-text [data-word='2']")
    assert page.texts(".lit") == ["cup"]
    for field, value, expected in (
        ("#errors", "none", ["Line 1"]),
        ("#errors", "any", ["Line 2", "Line 3", "Line 4", "Line 5"]),
        ("#least", "0.3", ["Line 2", "Line 3", "Line 4"]),
        ("#search", "X</B>", ["Line 3"]),
        ("#search", "nothing", []),
    ):
        page.set(field, value)
        assert page.texts(".card h3") == expected
    page.driver.find_element("xpath", "//button[.='Clear filters']").click()
    page.set("#order", "file")
    assert page.texts(".card h3") == [f"Line {n}" for n in range(1, 7)]


def test_keys_decide_and_progress_and_exports_have_it(open_report):
    from selenium.webdriver.common.keys import Keys

    page = open_report()
    page.driver.find_element("xpath", "//button[.='Export decisions']").click()
    assert status(page).startswith("There is nothing to export yet")
    page.press("n", "n")
    assert focused(page) == "Line 2"
    page.press("a")
    assert status(page) == "Accepted. Next: 3 of 6." and focused(page) == "Line 3"
    page.press("n", "r", "p", "m")
    page.press("wrong verb", Keys.ESCAPE)
    assert focused(page) == "Line 4" and page.texts("p.own-note") == ["wrong verb"]
    # The left arrow goes to the next word of a text that is read from right to left.
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, " ")
    assert status(page).startswith("\u2068الشاي\u2069: BAD, probability of BAD 0.20")
    page.driver.refresh()
    page.wait_until("document.querySelector('.card h3')")
    assert page.one(".done").text == "6 sentences · 1 accepted · 1 rejected"
    accepted, rejected = map(json.loads, exported(page).splitlines())
    assert (accepted["id"], accepted["spans"]) == ("line 2", [])
    assert (rejected["decision"], rejected["note"]) == ("reject", "wrong verb")
    span = {"start": 6, "end": 16, "text": "يشرب الشاي", "severity": "major"}
    assert rejected["spans"] == [span]
    page.set("#decisions", "reject")
    page.run("document.querySelector('.card').focus()")
    page.press("u")
    assert page.one(".done").text == "1 of 6 sentences · 1 accepted · 0 rejected"


def test_a_note_goes_to_the_sentence_that_was_just_decided(open_report):
    from selenium.webdriver.common.keys import Keys

    page = open_report()
    page.press("n", "n", "r", "m")
    page.press("wrong verb", Keys.ESCAPE)
    assert focused(page) == "Line 3" and page.texts("[data-sentence='1'] p.own-note") == [
        "wrong verb"
    ]
    page.press("a", "u")
    assert focused(page) == "Line 3"
    page.press("m")
    page.press("later", Keys.ESCAPE)
    rejected, noted = map(json.loads, exported(page).splitlines())
    assert (rejected["id"], rejected["note"]) == ("line 2", "wrong verb")
    assert (noted["id"], noted["decision"], noted["note"]) == ("line 3", None, "later")


def test_names_of_files_are_shown_as_they_are(page, tmp_path):
    path = tmp_path / "report.html"
    bitexts = [bitext_of(("a", "b"), path=name) for name in ("x/first.tsv", "second.po")]
    path.write_text(report_page("a", bitexts, [answer("b", 0.1)] * 2), encoding="utf-8")
    page.open(path.as_uri(), 1100)
    page.wait_until("document.querySelector('.card h3')")
    assert page.texts(".card h3") == ["first.tsv, line 1", "second.po, line 1"]
    page.press("n", "a", "a")
    made = map(json.loads, exported(page).splitlines())
    assert {(each["file"], each["id"]) for each in made} == {
        ("first.tsv", "line 1"),
        ("second.po", "line 1"),
    }


def test_answers_with_several_thresholds_are_shown_as_they_are(open_report):
    sentences = [
        ("a", "b", answer("b", 0.2, tags=["BAD"], threshold=0.1)),
        ("a", "c", answer("c", 0.3)),
    ]
    page = open_report(sentences)
    assert page.texts(".bad") == ["b BAD 0.20"]
    assert page.one(".threshold output").text.startswith("the answers' tags. ")


def test_a_large_report_draws_what_is_near_and_follows_the_threshold(open_report):
    many = [(f"a {n}", f"b c {n}", answer(f"b c {n}", 0.5, 0.2, n / 1000)) for n in range(1000)]
    page = open_report(many, width=320)
    assert page.run("return document.documentElement.scrollWidth") <= 320
    count = "return document.querySelectorAll('.card h3').length"
    assert 0 < page.run(count) < 100
    output = page.one(".threshold output")
    assert (
        output.text == "0.40, the model's. It flags 100% of the sentences and 53.3% of the words."
    )
    page.set(".threshold input", "0.9")
    page.wait_until("document.querySelector('.bad').textContent.startsWith('999')")
    assert output.text == "0.90. It flags 10% of the sentences and 3.3% of the words."
    page.run("scrollTo(0, document.body.scrollHeight)")
    page.wait_until("document.querySelector('[data-sentence=\"0\"] h3')")
    assert page.run(count) < 300
    # Buttons do what keys do.
    page.run("scrollTo(0, 0)")
    card = page.one("[data-sentence='999']")
    card.find_element("css selector", ".target-text .word").click()
    for action in ("mark", "reject", "note"):
        card.find_element("css selector", f"[data-action='{action}']").click()
    assert page.run("return document.activeElement.tagName") == "TEXTAREA"
    assert page.texts("[data-sentence='999'] .bad") == ["b BAD 0.50", "999 BAD 1.00"]
    assert status(page) == "Rejected."


def test_checks_are_marked_with_their_reasons_and_come_first(open_report):
    finding = {"kind": "number", "start": 4, "end": 6, "message": "12 is not in the source"}
    missing = {"kind": "number", "start": 6, "end": 6, "message": "3 is missing"}
    sentences = [
        ("a", "b c", answer("b c", 0.9, 0.1)),
        ("a 3", "b c 12", answer("b c 12", 0.1, 0.1, 0.1, checks=[finding, missing])),
    ]
    page = open_report(sentences)
    assert page.texts(".card h3") == ["Line 2", "Line 1"]
    assert page.texts(".checked") == ["12"] and page.texts(".bad") == ["b BAD 0.90"]
    assert page.texts(".checks li") == ["12 is not in the source", "3 is missing"]
    page.set("#errors", "check")
    assert page.texts(".card h3") == ["Line 2"]


def test_a_decision_returns_to_the_file_and_becomes_training_data(open_report, tmp_path):
    pytest.importorskip("lxml", reason="needs the extra xliff")
    unit = '<unit id="{}"><segment><source>{}</source><target>{}</target></segment></unit>'
    pairs = [("the house.", "das Haus."), ("a red cup", "eine rote Tasse"), ("so", "dann")]
    units = "".join(unit.format(i, *pair) for i, pair in enumerate(pairs, 1))
    path, reviewed = tmp_path / "a.xlf", tmp_path / "reviewed.xlf"
    path.write_text(
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">'
        f'<file id="f">{units}</file></xliff>',
        encoding="utf-8",
    )
    answers = [
        answer("das Haus .", 0.9, 0.2, 0.1, offsets=[(0, 3), (4, 8), (8, 9)]),
        answer("eine rote Tasse", 0.1, 0.2, 0.6),
        {"error": "too long"},
    ]
    page = open_report(bitext=read_bitext([str(path)]), answers=answers)
    page.press("n", "a", "a", "r")  # the one without a score comes first
    decisions = tmp_path / "decisions.jsonl"
    decisions.write_text(exported(page), encoding="utf-8")
    figures = review([str(path)], decisions=str(decisions), annotated=str(reviewed))
    assert (figures["decisions"], figures["outdated"]) == (3, [])
    text = reviewed.read_text("utf-8")
    assert (
        text.count('state="reviewed"') == 2 and text.count('subState="allennlp_nef:rejected"') == 1
    )
    reader = WmtWordQeReader(aligner=False, target_tokenizer=PunctuationTokenizer())
    tags = [instance["metadata"]["tags"] for instance in reader.read(str(decisions))]
    assert tags == [["OK"] * 3, ["OK", "OK", "BAD"], ["OK"]]
