"""Weights of training sentences."""

import numpy
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.data.weighting import SentenceWeighting
from allennlp_nef.errors import DataFormatError

LENGTH = 10


def make(**options):
    params = {"type": "domain_classifier", "target_path": "dev", **options}
    return SentenceWeighting.from_params(Params(params))


def sentences(shares, word="a"):
    """A sentence for each number of BAD words."""
    return [
        TaggingMetadata([word] * LENGTH, tags=["BAD"] * share + ["OK"] * (LENGTH - share))
        for share in shares
    ]


def test_weighted_tags_have_the_shares_of_the_target():
    generator = numpy.random.default_rng(0)
    shares = generator.binomial(LENGTH, 0.4, 2000)
    weights = make().weights(sentences(shares), sentences(generator.binomial(LENGTH, 0.2, 2000)))
    assert weights.mean() == pytest.approx(1)
    assert numpy.average(shares, weights=weights) / LENGTH == pytest.approx(0.2, abs=0.02)


def test_exponent_makes_weights_more_equal_and_selected_leaves_sentences_out():
    training, target = sentences([0, 2, 4, 6, 8] * 20), sentences([0, 1, 2, 3, 4] * 20)
    plain, equal, some = (
        make(**options).weights(training, target)
        for options in ({}, {"exponent": 0.5}, {"selected": 0.3})
    )
    assert 1 < equal.max() < plain.max()
    assert (some > 0).sum() == 30
    assert plain[some > 0].min() >= plain[some == 0].max()
    assert some.mean() == pytest.approx(1)


def test_words_need_no_tags_and_include_the_source():
    training = [TaggingMetadata(["x"], source=[word]) for word in "ab" * 40]
    target = [TaggingMetadata(["x"], source=["a"]) for _ in range(40)]
    weights = make(features=["words"]).weights(training, target)
    assert weights[::2].min() > 1 > weights[1::2].max()


@pytest.mark.parametrize(
    "training, target, message",
    [
        (
            [TaggingMetadata(["a", "b"])] * 9,
            sentences([1] * 9),
            "training data .* got one without: 'a b'",
        ),
        (sentences([1] * 9), sentences([1] * 4), "at least 5 sentences in dev, got 4"),
        (sentences([1] * 4), sentences([1] * 9), "in the training data, got 4"),
    ],
)
def test_data_that_cannot_be_weighed_are_refused(training, target, message):
    with pytest.raises(DataFormatError, match=message):
        make().weights(training, target)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"features": ["tag"]}, r"features: expected a list of some of tags, words, got \['tag'\]"),
        ({"features": []}, "features: expected"),
        ({"exponent": 0}, "exponent: expected a number above 0 and at most 10, got 0"),
        ({"exponent": 1e308}, "exponent: expected a number above 0 and at most 10, got 1e"),
        ({"selected": 1.5}, "selected: expected a number above 0 and at most 1, got 1.5"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(**options)


class TestReader:
    def write(self, tmp_path, name, rows):
        lines = ["OK " * (LENGTH - row) + "BAD " * row for row in rows]
        for ending, line in ((".src", "a"), (".mt", "b " * LENGTH)):
            (tmp_path / f"{name}{ending}").write_text(f"{line}\n" * len(rows))
        (tmp_path / f"{name}.tags").write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    def read(self, tmp_path, worker=None, **options):
        train = self.write(tmp_path, "train", [0, 2, 4, 6, 8] * 4)
        weighting = {"target_path": self.write(tmp_path, "dev", [0, 1, 2, 3, 4] * 4), **options}
        params = {"type": "wmt_word_qe", "weighting": weighting}
        reader = DatasetReader.from_params(Params(params))
        if worker:
            reader._set_worker_info(worker)
        return [metadata_of(instance) for instance in reader.read(train)]

    def test_sentences_carry_their_weights(self, tmp_path):
        read = self.read(tmp_path)
        assert sum(item.weight for item in read) == pytest.approx(len(read))
        assert read[0].weight > read[4].weight > 0

    def test_other_data_are_refused_and_left_out_sentences_counted(self, tmp_path, caplog):
        train = self.write(tmp_path, "train", [0, 2, 4, 6, 8] * 4)
        dev = self.write(tmp_path, "dev", [0, 1, 2, 3, 4] * 4)
        params = {"type": "wmt_word_qe", "weighting": {"target_path": dev, "selected": 0.4}}
        reader = DatasetReader.from_params(Params(params))
        assert [len(list(reader.read(train))) for _ in range(2)] == [8, 8]
        assert "Left out 12 of 20 sentences of " in caplog.text
        with pytest.raises(ConfigurationError, match="expected a validation_dataset_reader witho"):
            list(reader.read(dev))
        reader.use_no_weights()
        assert [item.weight for item in map(metadata_of, reader.read(dev))] == [1] * 20

    def test_workers_share_the_sentences_that_are_selected(self, tmp_path):
        together = self.read(tmp_path, selected=0.4)
        assert len(together) == 8
        shares = [self.read(tmp_path, WorkerInfo(2, i), selected=0.4) for i in (0, 1)]
        assert [item.weight for share in shares for item in share] == [
            item.weight for start in (0, 1) for item in together[start::2]
        ]
