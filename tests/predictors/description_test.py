"""The descriptions that predictors give of their models, and the limits of a list of requests."""

import json

import pytest

from allennlp_nef.predictors.tag_colors import tag_colors

REQUESTS = {
    "word_qe": {"source": "a cup", "target": "eine Tasse", "alignments": "1-1 0-0"},
    "chunks": {"sentence": "Anna slept ."},
    "tags": {"sentence": "Anna dort ."},
}


@pytest.fixture(scope="module")
def archives(archive_path, ner_archive, pos_archive):
    return {"word_qe": archive_path, "chunks": ner_archive, "tags": pos_archive}


@pytest.mark.parametrize(
    "task, title",
    [
        ("word_qe", "NEF-F csoftmax, N = 5"),
        ("chunks", "NEF-F csoftmax, N = 5 + CRF"),
        ("tags", "NEF-F csoftmax, N = L"),
    ],
)
def test_description_is_that_of_the_model(predictor_of, archives, task, title):
    predictor = predictor_of(archives[task], max_tokens=9, max_batch=8)
    description = predictor.predict_json({"describe": True})
    assert description == predictor.description() == json.loads(json.dumps(description))
    labels = description["labels"]
    vocab = predictor._model.vocab
    assert labels == [vocab.get_token_from_index(i, "labels") for i in range(len(labels))]
    assert len(labels) == vocab.get_vocab_size("labels")
    assert description == {
        "task": task,
        "title": title,
        "labels": labels,
        "colours": tag_colors(labels),
        "step_name": "step",
        "max_tokens": 9,
        "max_batch": 8,
        "threshold": pytest.approx(1 / 6) if task == "word_qe" else None,
        **({"has_aligner": True} if task == "word_qe" else {}),
        "examples": predictor._dataset_reader.saved_examples,
    }


def test_describe_is_a_request_without_other_fields(predictor_of, archives):
    predictor = predictor_of(archives["tags"])
    for request in ({"describe": False}, {"describe": True, "sentence": "a"}, {"describe": None}):
        with pytest.raises(ValueError, match='expected the field sentence or .* got "describe"'):
            predictor.predict_json(request)
    with pytest.raises(ValueError, match='item 0: .* got "describe"'):
        predictor.predict_batch_json([{"describe": True}])


def test_lists_of_too_many_requests_are_refused(predictor_of, archives):
    predictor = predictor_of(archives["tags"], max_batch=2)
    assert len(predictor.predict_batch_json([REQUESTS["tags"]] * 2)) == 2
    with pytest.raises(ValueError, match="^expected at most 2 items, got 3$"):
        predictor.predict_batch_json([REQUESTS["tags"]] * 3)


@pytest.mark.parametrize(("task", "flag"), [("word_qe", "trace"), ("tags", "attention")])
def test_lists_of_too_large_traces_are_refused(predictor_of, archives, task, flag):
    """Sentences of 2 or 3 words, 4 or 9 numbers each; those without a trace do not count."""
    predictor = predictor_of(archives[task], max_tokens=4)
    asked = {**REQUESTS[task], flag: True}
    fitting = 4 if task == "word_qe" else 1
    assert (
        len(predictor.predict_batch_json([asked] * fitting + [REQUESTS[task]] * 5)) == fitting + 5
    )
    size = 20 if task == "word_qe" else 18
    message = f"add up to at most 16, got {size}$"
    with pytest.raises(ValueError, match=message):
        predictor.predict_batch_json([asked] * (fitting + 1))


def test_too_long_words_are_refused(predictor_of, archives):
    """Embedders of characters pad all words to the longest."""
    predictor = predictor_of(archives["chunks"], max_tokens=4)
    for words in (["x" * 1000] * 4, ["x" * 4000]):
        assert predictor.predict_json({"tokens": words})["tokens"] == words
        most = 4000 // len(words)
        message = f"tokens: expected words of at most {most} characters .in {len(words)} words., got {most + 1}$"
        with pytest.raises(ValueError, match=message):
            predictor.predict_json({"tokens": [*words[:-1], words[-1] + "x"]})
