import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.base import DecodeOptions, with_options
from allennlp_nef.serving.batching import BatchingPredictor


def sentence(*words, trace=False):
    instance = Instance({"metadata": MetadataField(TaggingMetadata(list(words)))})
    return with_options(instance, DecodeOptions(trace=trace))


def words_of(instance):
    return instance["metadata"].metadata.tokens


class Predictor:
    """Answers with the words. The first batch ends when `go` is set; the word "bad" is an error."""

    batch_size = 4

    def __init__(self):
        self.batches = []
        self.started, self.go = threading.Event(), threading.Event()

    def predict_batch_instance(self, instances):
        self.batches.append([words_of(each) for each in instances])
        self.started.set()
        self.go.wait(10)
        if any("bad" in words for words in self.batches[-1]):
            raise RuntimeError("bad")
        return [{"words": words_of(each)} for each in instances]


def answers_to(*requests):
    """What requests get that come while another one, of the word "first", is answered; the batches and their sizes."""
    predictor, sizes = Predictor(), []
    tagger = BatchingPredictor(predictor, sizes.append)
    with ThreadPoolExecutor(len(requests) + 1) as pool:
        first = pool.submit(tagger.answers, [sentence("first")])
        assert predictor.started.wait(10)
        waiting = []
        for count, request in enumerate(requests, 1):
            waiting.append(pool.submit(tagger.answers, list(request)))
            while len(tagger._waiting) < count:
                pass
        predictor.go.set()
        assert first.result(10) == [{"words": ["first"]}]
        errors = [each.exception(10) for each in waiting]
        answers = [error or each.result() for error, each in zip(errors, waiting)]
    assert predictor.batches[0] == [["first"]] and sizes == list(map(len, predictor.batches))
    return answers, predictor.batches[1:]


def test_requests_that_wait_are_tagged_together_and_sorted():
    answers, batches = answers_to(
        [sentence("c", "d"), sentence("a")], [sentence("e", trace=True)], [sentence("b")]
    )
    assert batches == [[["a"], ["b"], ["c", "d"], ["e"]]]
    assert answers == [
        [{"words": ["c", "d"]}, {"words": ["a"]}],
        [{"words": ["e"]}],
        [{"words": ["b"]}],
    ]


def test_a_batch_has_at_most_batch_size_sentences_or_one_request():
    requests = [[sentence(str(index))] * size for index, size in enumerate((3, 2, 1, 9, 1, 0))]
    answers, batches = answers_to(*requests)
    assert list(map(len, batches)) == [3, 3, 9, 1]
    assert list(map(len, answers)) == [3, 2, 1, 9, 1, 0]


def test_an_error_is_that_of_the_request_that_causes_it():
    answers, _ = answers_to([sentence("a")], [sentence("bad")], [sentence("b")])
    assert answers[0] == [{"words": ["a"]}] and answers[2] == [{"words": ["b"]}]
    with pytest.raises(RuntimeError, match="bad"):
        raise answers[1]


def test_an_end_of_the_thread_is_that_of_its_requests_and_the_next_one_is_answered():
    predictor = Predictor()
    predictor.go.set()
    tagger = BatchingPredictor(predictor, lambda size: None)
    with patch.object(predictor, "predict_batch_instance", side_effect=SystemExit(3)):
        with patch("threading.excepthook"), pytest.raises(SystemExit):
            tagger.answers([sentence("a")])
        tagger._thread.join(10)
    assert tagger.answers([sentence("b")]) == [{"words": ["b"]}]
