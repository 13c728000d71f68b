"""The report for reviewers: the data in its page, and its numbers."""

import json
import re

import pytest

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.segments import Bitext, SegmentPair
from allennlp_nef.qe.review.report import report_page
from tests.qe.review.answers import answer


def content_of(*items, title="A title"):
    """The data in the page of sources, translations and answers."""
    pairs = [SegmentPair("line 1", "a.tsv:1", source, target) for source, target, _ in items]
    page = report_page(title, Bitext(pairs, "en", "de"), [each for *_, each in items])
    return json.loads(re.search('id="page-data">(.*)</script>', page).group(1))


def test_the_page_has_the_words_of_both_sides_at_their_places():
    fields = {"alignments": [[0, 0], [1, 1]], "source": ["the", "house"]}
    content = content_of(
        ("the  house", " das Haus.", answer("das Haus .", 0.1, 0.7, 0.2, **fields))
    )
    (item,) = content.pop("sentences")
    assert item["words"] == [[1, 4], [5, 9], [9, 10]] and item["source_words"] == [[0, 3], [5, 10]]
    assert item["links"] == [[0, 0], [1, 1]]
    assert (item["bad"], item["tags"], item["risk"]) == ([0.1, 0.7, 0.2], [0, 1, 0], 0.3333)
    languages = {"source_language": "en", "target_language": "de"}
    expected = {"title": "A title", "labels": ["OK", "BAD"], "threshold": 0.4, **languages}
    assert {name: content[name] for name in expected} == expected


def test_words_that_an_answer_does_not_have():
    # The words of the source stand between blanks; an <EOS> of the model is an empty word at the end.
    (item,) = content_of(("the house", "c", answer("c <EOS>", 0.1, 0.9)))["sentences"]
    assert item["source_words"] == [[0, 3], [4, 9]] and item["words"] == [[0, 1], [1, 1]]
    empty = {**answer("c", 1.0), "tokens": [], "tags": [], "bad_probabilities": []}
    (item,) = content_of(("a", "<EOS>", empty))["sentences"]
    assert item["words"] == item["tags"] == [] and item["risk"] == 1


def test_severities():
    content = content_of(
        ("a", "b c d", answer("b c d", 0.1, 0.6, 0.7, tags=["OK", "minor", "major"]))
    )
    assert content["labels"] == ["OK", "minor", "major"]
    assert content["sentences"][0]["tags"] == [0, 1, 2]


def test_segments_without_a_score_have_the_reason():
    answers = [{"error": "there is no translation"}, answer("b", 0.7)]
    first, second = content_of(("a", "", answers[0]), ("a", "b", answers[1]))["sentences"]
    assert first["error"] == "there is no translation" and "risk" not in first
    assert second["risk"] == 0.7


def test_the_key_of_the_progress_depends_on_texts_and_scores():
    key = content_of(("a", "b", answer("b", 0.7)))["key"]
    assert content_of(("a", "b", answer("b", 0.7)), title="Another title")["key"] == key
    assert content_of(("a", "b", answer("b", 0.6)))["key"] != key


@pytest.mark.parametrize("tokens, fields", [("c", {}), ("b b", {}), ("b", {"source": ["x"]})])
def test_answers_for_other_texts_are_errors_with_their_place(tokens, fields):
    bad = [0.1] * len(tokens.split())
    with pytest.raises(DataFormatError, match=r"a\.tsv:1: "):
        content_of(("a", "b", answer(tokens, *bad, **fields)))
