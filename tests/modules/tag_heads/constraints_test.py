"""The constraints of the CRF head."""

import math

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.chunks import convert_tags
from tests import oracles
from tests.modules.tag_heads.small_head import LABELS, SCHEMES, batch_of, make

LENGTHS = [4, 1, 0, 3, 2]


def is_well_formed(tags, scheme):
    """Whether the tags are the code of their chunks."""
    same = {"E": "L", "S": "U"}
    return convert_tags(tags, scheme) == [same.get(tag[0], tag[0]) + tag[1:] for tag in tags]


def example(name, seed=0, constrained=True, lengths=LENGTHS):
    options = {"constraints": SCHEMES[name]} if constrained else {}
    head = make("crf", seed, labels=LABELS[name], **options).double()
    with torch.no_grad():
        for parameter in head.chain.parameters():
            parameter.normal_(std=2)
    states, mask, tags = batch_of(lengths, seed=seed)
    return head, head.scores(states.double()).detach(), mask, tags


def allowed_paths(name, head, scores):
    chain = head.chain
    parameters = chain.transitions, chain.start_transitions, chain.end_transitions
    paths = oracles.path_scores(scores.numpy(), *(p.detach().numpy() for p in parameters))
    return {
        path: score
        for path, score in paths.items()
        if is_well_formed([LABELS[name][tag] for tag in path], SCHEMES[name])
    }


@pytest.mark.parametrize("name", sorted(LABELS))
@pytest.mark.parametrize("seed", [0, 1])
class TestAgainstAllowedPaths:
    def test_decoded_tags_are_the_best_allowed_ones(self, name, seed):
        head, scores, mask, _ = example(name, seed)
        decoded = head.decode(scores, mask)
        for row, length in enumerate(LENGTHS):
            if length:
                paths = allowed_paths(name, head, scores[row, :length])
                assert tuple(decoded[row, :length].tolist()) == max(paths, key=paths.get)
        free = example(name, seed, constrained=False)[0].decode(scores, mask)
        assert (decoded != free).any()  # constraints matter here

    def test_probabilities_are_sums_over_allowed_taggings(self, name, seed):
        head, scores, mask, _ = example(name, seed)
        probabilities = head.probabilities(scores, mask).detach().numpy()
        for row, length in enumerate(LENGTHS):
            if length:
                paths = allowed_paths(name, head, scores[row, :length])
                log_z = oracles.log_sum_exp(paths.values())
                expected = numpy.zeros((length, len(LABELS[name])))
                for path, score in paths.items():
                    expected[range(length), path] += math.exp(score - log_z)
                numpy.testing.assert_allclose(probabilities[row, :length], expected, atol=1e-9)


@pytest.mark.parametrize("name", sorted(LABELS))
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_decoded_tags_are_well_formed_and_the_best_for_any_scores(name, data):
    """With any scores, those of the chain too: equal ones and very large ones."""
    head, _, _, _ = example(name)
    head = head.float()
    number = st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32))
    length = data.draw(st.integers(1, 3))
    scores = torch.zeros(1, length, len(head.labels))
    for tensor in (scores, *head.chain.parameters()):
        values = st.lists(number, min_size=tensor.numel(), max_size=tensor.numel())
        with torch.no_grad():
            tensor.copy_(torch.tensor(data.draw(values)).view_as(tensor))
    largest = max(float(x.detach().abs().max()) for x in (scores, *head.chain.parameters()))
    mask = torch.ones(1, length, dtype=torch.bool)
    decoded = tuple(head.decode(scores, mask)[0].tolist())
    paths = allowed_paths(name, head.double(), scores[0].double())
    assert decoded in paths
    assert paths[decoded] >= max(paths.values()) - 1e-6 * largest
    probabilities = head.float().probabilities(scores, mask)
    torch.testing.assert_close(probabilities.sum(-1), mask.float())


@pytest.mark.parametrize("name", sorted(LABELS))
def test_loss_is_unconstrained(name):
    """Data sets have ill-formed gold tags."""
    head, scores, mask, tags = example(name)
    free = example(name, constrained=False)[0]
    gold = [LABELS[name][tag] for tag in tags[0]]
    assert not is_well_formed(gold, SCHEMES[name])
    loss = head.loss(scores, mask, tags)
    assert torch.isfinite(loss)
    assert torch.equal(loss, free.loss(scores, mask, tags))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounded_scores_are_decoded_exactly(dtype):
    """Where parameters and scores are rounded, no transition overflows to minus infinity."""
    head, scores, mask, _ = example("BIO")
    head, scores = head.to(dtype), scores.to(dtype)
    decoded, probabilities = head.decode(scores, mask), head.probabilities(scores, mask)
    assert probabilities.dtype == torch.float32
    torch.testing.assert_close(probabilities.sum(-1), mask.float())
    assert torch.equal(decoded, head.double().decode(scores.double(), mask))
    expected = head.probabilities(scores.double(), mask)
    torch.testing.assert_close(probabilities.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "labels, scheme, message",
    [
        (["O", "B-X"], "IOB1", 'constraints: expected "BIO", "BIOUL" or null, got \'IOB1\''),
        (["O", "OK"], "BIO", "constraints: expected labels of BIO, got 'OK'"),
        (["O", "B-X", "U-X"], "BIO", "constraints: expected labels of BIO, got 'U-X'"),
        (
            ["I-Y", "O", "B-X", "I-X"],
            "BIO",
            "constraints: no BIO sequence of the vocabulary's labels contains I-Y; are the data's",
        ),
        (["O", "B-X", "I-X", "U-Y"], "BIOUL", "no BIOUL sequence .* contains B-X, I-X;"),
    ],
)
def test_bad_labels_and_schemes_are_refused(labels, scheme, message):
    with pytest.raises(ConfigurationError, match=message):
        make("crf", labels=labels, constraints=scheme)
