"""The CRF head: label weights and constraints, against the enumeration of all taggings."""

import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.chunks import convert_tags
from tests import oracles
from tests.modules.tag_heads.small_head import (
    CHUNK_LABELS,
    LABELS,
    SCHEMES,
    make_batch,
    make_head,
    paths_of,
)

LENGTHS = [4, 1, 0, 3, 2]


@pytest.mark.parametrize("weights", [{}, {"A": 0.5, "B": 5.0}])
def test_label_weights_are_added_to_the_other_labels_in_the_partition_function(weights):
    head = make_head("crf", label_weights=weights)
    states, mask, tags = make_batch(LENGTHS)
    scores = head.scores(states)
    expected = 0.0
    for row, length in enumerate(LENGTHS):
        if length:
            gold = tags[row, :length].tolist()
            costs = [math.log(weights.get(LABELS[tag], 1.0)) for tag in gold]
            paths = paths_of(head, scores[row, :length])
            augmented = [
                score + sum(cost for cost, a, b in zip(costs, path, gold) if a != b)
                for path, score in paths.items()
            ]
            expected += oracles.log_sum_exp(augmented) - paths[tuple(gold)]
    assert head.loss(scores, mask, tags).item() == pytest.approx(expected / 4, rel=1e-5)


def is_well_formed(tags, scheme):
    """Whether the tags are the encoding of their chunks."""
    synonyms = {"E": "L", "S": "U"}
    return convert_tags(tags, scheme) == [synonyms.get(tag[0], tag[0]) + tag[1:] for tag in tags]


def allowed_paths(name, head, scores):
    labels = CHUNK_LABELS[name]
    return {
        path: score
        for path, score in paths_of(head, scores).items()
        if is_well_formed([labels[tag] for tag in path], SCHEMES[name])
    }


@pytest.mark.parametrize("name", list(CHUNK_LABELS))
class TestConstraints:
    def make(self, name, seed=0, constraints=True):
        options = {"constraints": SCHEMES[name]} if constraints else {}
        return make_head("crf", seed, labels=CHUNK_LABELS[name], **options).double()

    @pytest.mark.parametrize("seed", [0, 1])
    def test_tags_and_probabilities_are_those_of_well_formed_taggings(self, name, seed):
        head = self.make(name, seed)
        states, mask, _ = make_batch(LENGTHS, seed)
        scores = head.scores(states.double()).detach()
        decoded, found = head.decode(scores, mask), head.probabilities(scores, mask).detach()
        for row, length in enumerate(LENGTHS):
            if length:
                paths = allowed_paths(name, head, scores[row, :length])
                assert tuple(decoded[row, :length].tolist()) == max(paths, key=paths.get)
                log_z = oracles.log_sum_exp(paths.values())
                expected = numpy.zeros((length, len(head.labels)))
                for path, score in paths.items():
                    expected[range(length), path] += math.exp(score - log_z)
                numpy.testing.assert_allclose(found[row, :length], expected, atol=1e-9)
        free = self.make(name, seed, constraints=False)
        assert (decoded != free.decode(scores, mask)).any()

    @settings(deadline=None, max_examples=25, derandomize=True)
    @given(data=st.data())
    def test_tags_are_well_formed_for_any_scores(self, name, data):
        """Equal and very large ones too."""
        head = self.make(name).float()
        number = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32))
        scores = torch.zeros(1, data.draw(st.integers(1, 3)), len(head.labels))
        parameters = (scores, head.transitions, head.start, head.end)
        for tensor in parameters:
            values = st.lists(number, min_size=tensor.numel(), max_size=tensor.numel())
            with torch.no_grad():
                tensor.copy_(torch.tensor(data.draw(values)).view_as(tensor))
        largest = max(float(tensor.detach().abs().max()) for tensor in parameters)
        mask = torch.ones(scores.shape[:2], dtype=torch.bool)
        decoded = tuple(head.decode(scores, mask)[0].tolist())
        paths = allowed_paths(name, head, scores[0])
        assert paths[decoded] >= max(paths.values()) - 1e-6 * largest
        sums = head.probabilities(scores, mask).sum(-1)
        assert (sums - 1).abs().max() < 1e-5 + 1e-6 * largest

    def test_loss_is_unconstrained(self, name):
        """Data sets have ill-formed gold tags."""
        head, free = self.make(name), self.make(name, constraints=False)
        states, mask, tags = make_batch(LENGTHS)
        assert not is_well_formed([head.labels[tag] for tag in tags[0]], SCHEMES[name])
        scores = head.scores(states.double())
        assert torch.equal(head.loss(scores, mask, tags), free.loss(scores, mask, tags))


@pytest.mark.parametrize(
    "labels, scheme",
    [
        (["O", "B-X"], "IOB"),
        (["O", "OK"], "BIO"),
        (["OK", "BAD"], "BIO"),
        (["O", "B-X", "U-X"], "BIO"),
        (["I-Y", "O", "B-X", "I-X"], "BIO"),
        (["O", "B-X", "I-X", "U-Y"], "BIOUL"),
    ],
)
def test_labels_that_would_never_be_predicted_are_errors(labels, scheme):
    with pytest.raises(ConfigurationError):
        make_head("crf", labels=labels, constraints=scheme)
