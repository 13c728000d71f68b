"""The report for reviewers: the data in its page, and its numbers."""

from allennlp_nef.qe.review.report import report_page
from tests.qe.review.answers import answer, bitext_of, content_of


def report(*items, title="A title"):
    """The data in the page of sources, translations and answers."""
    bitext = bitext_of(*((source, target) for source, target, _ in items))
    return content_of(report_page(title, [bitext], [each for *_, each in items]))


def test_the_page_has_the_words_of_both_sides_at_their_places():
    fields = {"alignments": [[0, 0], [1, 1]], "source_offsets": [(0, 3), (5, 10)]}
    fields["offsets"] = [(1, 4), (5, 9), (9, 10)]
    content = report(("the  house", " das Haus.", answer("das Haus .", 0.1, 0.7, 0.2, **fields)))
    (item,) = content.pop("sentences")
    assert item["words"] == [[1, 4], [5, 9], [9, 10]] and item["source_words"] == [[0, 3], [5, 10]]
    assert item["links"] == [[0, 0], [1, 1]]
    assert (item["bad"], item["tags"], item["risk"]) == ([0.1, 0.7, 0.2], [0, 1, 0], 0.3333)
    languages = {"source_language": "en", "target_language": "de"}
    expected = {"title": "A title", "labels": ["OK", "BAD"], "threshold": 0.4, **languages}
    assert {name: content[name] for name in expected} == expected


def test_words_that_an_answer_does_not_have():
    # An <EOS> of the model is an empty word at the end.
    made = answer("c <EOS>", 0.1, 0.9, offsets=[(0, 1), (1, 1)])
    (item,) = report(("the house", "c", made))["sentences"]
    assert item["words"] == [[0, 1], [1, 1]]
    empty = {**answer("c", 1.0), "offsets": [], "tokens": [], "tags": [], "bad_probabilities": []}
    (item,) = report(("a", "<EOS>", empty))["sentences"]
    assert item["words"] == item["tags"] == [] and item["risk"] == 1


def test_severities():
    made = answer("b c d", 0.1, 0.6, 0.7, tags=["OK", "minor", "major"])
    content = report(("a", "b c d", made))
    assert content["labels"] == ["OK", "minor", "major"]
    assert content["sentences"][0]["tags"] == [0, 1, 2]


def test_segments_come_in_the_order_of_an_estimate():
    estimates = [(0.2, 90, 0.1), (0.1, 20, 0.6), (0.9, 60, 0.3)]
    names = ("hter", "quality", "critical_error_probability")
    items = [("a", "b", answer("b", 0.1, **dict(zip(names, each)))) for each in estimates]
    bitext = bitext_of(*(item[:2] for item in items))
    expected = {None: [1, 2, 0], "hter": [2, 0, 1], "quality": [1, 2, 0], names[2]: [1, 2, 0]}
    for order_by, order in expected.items():
        page = report_page("A title", [bitext], [item[2] for item in items], order_by=order_by)
        content = content_of(page)
        assert content["order"] == order
    assert [item["quality"] for item in content["sentences"]] == [90, 20, 60]


def test_segments_without_a_score_have_the_reason():
    items = ("a", "", {"error": "empty translation"}), ("a", "b", answer("b", 0.7))
    first, second = report(*items)["sentences"]
    assert first["error"] == "empty translation" and "risk" not in first
    assert second["risk"] == 0.7


def test_the_key_of_the_progress_depends_on_texts_and_scores():
    key = report(("a", "b", answer("b", 0.7)))["key"]
    assert report(("a", "b", answer("b", 0.7)), title="Another title")["key"] == key
    assert report(("a", "b", answer("b", 0.6)))["key"] != key


def test_answers_can_have_different_thresholds_and_kinds_of_tags():
    second = answer("b c", 0.1, 0.5, tags=["OK", "minor"], threshold=0.3)
    content = report(("a", "b", answer("b", 0.5)), ("a", "b c", second))
    assert content["threshold"] is None
    assert content["labels"] == ["OK", "BAD", "minor", "major"]
    assert content["severities"] == ["OK", "major", "minor", "major"]
    assert [item["tags"] for item in content["sentences"]] == [[1], [0, 2]]


def test_segments_have_their_files_and_their_own_languages():
    bitexts = [bitext_of(("a", "b"), path=path) for path in ("x/a.tsv", "b.tsv", "y/a.tsv")]
    bitexts[2].target_language = "fr"
    content = content_of(report_page("a", bitexts, [answer("b", 0.1)] * 3))
    assert content["files"] == ["x/a.tsv", "b.tsv", "y/a.tsv"]
    items = content["sentences"]
    assert [item["name"] for item in items] == ["line 1"] * 3
    assert [item.get("file", 0) for item in items] == [0, 1, 2]
    assert (content["source_language"], content["target_language"]) == ("en", None)
    assert [item["target_language"] for item in items] == ["de", "de", "fr"]
