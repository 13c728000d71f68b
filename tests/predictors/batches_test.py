import pytest
from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from allennlp_nef.data.metadata import ParsingMetadata, TaggingMetadata
from allennlp_nef.models.base import DecodeOptions, with_options
from allennlp_nef.predictors import requests as batches
from allennlp_nef.predictors.requests import batches_of


def sentence(length, width=1, source=None, **wanted):
    metadata = TaggingMetadata(["a"] * (length - 1) + ["x" * width], source)
    instance = Instance({"metadata": MetadataField(metadata)})
    return with_options(instance, DecodeOptions(**wanted))


def sizes(instances, batch_size=4):
    made = list(batches_of(iter(instances), batch_size))
    assert [instance for batch in made for instance in batch] == instances
    return [len(batch) for batch in made]


@pytest.mark.parametrize("count, expected", [(0, []), (1, [1]), (4, [4]), (9, [4, 4, 1])])
def test_batches_have_the_size_asked_for(count, expected):
    assert sizes([sentence(3)] * count) == expected


def test_batches_of_long_sentences_are_smaller(monkeypatch):
    monkeypatch.setattr(batches, "MAX_WORDS", 12)
    assert sizes([sentence(3)] * 5) == [4, 1]
    assert sizes([sentence(4)] * 5) == [3, 2]
    assert sizes([sentence(1), sentence(7), sentence(1), sentence(1), sentence(5)]) == [1, 1, 2, 1]
    assert sizes([sentence(50), sentence(1), sentence(1)]) == [1, 2]
    # In quality estimation, the longer side counts.
    assert sizes([sentence(1, source=["a"] * 6)] * 3) == [2, 1]


def test_batches_of_long_words_are_smaller(monkeypatch):
    monkeypatch.setattr(batches, "MAX_CHARACTERS", 60)
    assert sizes([sentence(3, width=5)] * 5) == [4, 1]
    assert sizes([sentence(3, width=10)] * 5) == [2, 2, 1]
    assert sizes([sentence(3), sentence(3), sentence(1, width=20), sentence(3)]) == [2, 1, 1]
    assert sizes([sentence(1, source=["a" * 30])] * 3) == [2, 1]
    assert sizes([sentence(2, width=1000), sentence(2)]) == [1, 1]


@pytest.mark.parametrize("wanted", ["attention", "trace"])
def test_batches_with_traces_are_smaller_and_apart(monkeypatch, wanted):
    """A sentence has as many steps as words, those of the longest one with padding."""
    monkeypatch.setattr(batches, "MAX_STEPS", 32)
    assert sizes([sentence(4, **{wanted: True})] * 5) == [2, 2, 1]
    assert sizes([sentence(n, **{wanted: True}) for n in (1, 1, 4, 4, 9, 1)]) == [2, 2, 1, 1]
    assert sizes([sentence(4)] * 3) == [3]
    arcs = ParsingMetadata([["a"] * 4], ["X"] * 4)
    assert sizes([Instance({"metadata": MetadataField(arcs)})] * 5) == [2, 2, 1]
    # Sentences without a trace are not in the same batch.
    assert sizes([sentence(2), sentence(2, **{wanted: True}), sentence(2)]) == [1, 1, 1]
