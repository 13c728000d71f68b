"""The linear-chain CRF against the enumeration of all taggings."""

import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.nn import crf
from allennlp_nef.nn.crf import (
    FORBIDDEN,
    LinearChain,
    log_likelihood,
    log_partition,
    score,
    viterbi,
)
from tests import oracles

LENGTHS = [5, 1, 0, 3, 2, 4]


def marginals(emissions, mask, chain):
    return crf.marginals(emissions, mask, chain, torch.zeros_like(mask, dtype=int))[0]


def next_marginals(emissions, mask, chain, tags):
    return crf.marginals(emissions, mask, chain, tags)[1]


def make_chain(tags, seed=0, constrained=False):
    """A random chain. If constrained, the last tag neither starts a sentence nor follows the first one, as in BIO."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (tags, tags), (tags,), (tags,)
    chain = LinearChain(*(torch.randn(s, generator=generator).double() for s in shapes))
    if constrained:
        chain.transitions[0, -1] = chain.start[-1] = chain.end[1] = FORBIDDEN
    return chain


def make_batch(lengths, tags, seed=0, padding=math.nan):
    """Emissions and mask."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    emissions = 2 * torch.randn(*mask.shape, tags, generator=generator, dtype=torch.float64)
    return emissions.masked_fill(~mask.unsqueeze(-1), padding), mask


def paths_of(emissions, chain):
    """The scores of the allowed taggings of a sentence."""
    scores = oracles.path_scores(emissions.numpy(), *(x.numpy() for x in chain))
    return {path: value for path, value in scores.items() if value > FORBIDDEN / 2}


def probabilities_of(paths):
    log_z = oracles.log_sum_exp(paths.values())
    return {path: math.exp(value - log_z) for path, value in paths.items()}


@pytest.mark.parametrize("tags, constrained", [(1, 0), (2, 0), (3, 0), (3, 1), (4, 1)])
@pytest.mark.parametrize("seed", [0, 1])
class TestAgainstAllPaths:
    """Sentences of 0 to 5 words in one batch, with NaN in padding."""

    @pytest.fixture
    def chain(self, tags, constrained, seed):
        return make_chain(tags, seed, constrained)

    @pytest.fixture
    def batch(self, tags, seed):
        return make_batch(LENGTHS, tags, seed)

    def sentences(self, chain, batch):
        """The index, length and allowed taggings of each sentence with words."""
        for row, length in enumerate(LENGTHS):
            if length:
                yield row, length, paths_of(batch[0][row, :length], chain)

    def test_viterbi_finds_the_best_tagging(self, chain, batch):
        best = viterbi(*batch, chain)
        assert best.dtype == torch.long
        assert (best[~batch[1]] == 0).all()
        for row, length, paths in self.sentences(chain, batch):
            assert tuple(best[row, :length].tolist()) == max(paths, key=paths.get)

    def test_score_and_partition_are_those_of_enumeration(self, chain, batch):
        best = viterbi(*batch, chain)
        scores, log_z = score(*batch, chain, best), log_partition(*batch, chain)
        likelihood = log_likelihood(*batch, chain, best)
        for row, _, paths in self.sentences(chain, batch):
            assert scores[row].item() == pytest.approx(max(paths.values()))
            assert log_z[row].item() == pytest.approx(oracles.log_sum_exp(paths.values()))
            torch.testing.assert_close(likelihood[row], scores[row] - log_z[row])
        assert likelihood[LENGTHS.index(0)] == 0

    def test_marginals_are_sums_over_taggings(self, chain, batch, tags):
        found = marginals(*batch, chain).detach()
        assert (found[~batch[1]] == 0).all()
        torch.testing.assert_close(found.sum(-1), batch[1].double())
        for row, length, paths in self.sentences(chain, batch):
            expected = numpy.zeros((length, tags))
            for path, probability in probabilities_of(paths).items():
                expected[range(length), path] += probability
            numpy.testing.assert_allclose(found[row, :length], expected, atol=1e-9)

    def test_next_marginals_are_conditional_probabilities(self, chain, batch, tags):
        """P(y_i = a and y_(i+1) = b) = P(y_i = a) P(y_(i+1) = b | y_i = a), for every a."""
        mask = batch[1]
        single = marginals(*batch, chain).detach()
        for tag in range(tags):
            following = next_marginals(*batch, chain, torch.full(mask.shape, tag))
            assert (following[~mask[:, 1:]] == 0).all()
            torch.testing.assert_close(following.sum(-1), mask[:, 1:].double())
            pairs = single[:, :-1, tag].unsqueeze(-1) * following
            for row, length, paths in self.sentences(chain, batch):
                expected = numpy.zeros((length - 1, tags))
                for path, probability in probabilities_of(paths).items():
                    for i, (a, b) in enumerate(zip(path, path[1:])):
                        expected[i, b] += probability * (a == tag)
                numpy.testing.assert_allclose(pairs[row, : length - 1], expected, atol=1e-9)


def test_gradients_are_numerically_right():
    emissions, mask = make_batch([3, 0, 1], 3, padding=0.0)
    tags = torch.tensor([[2, 0, 1], [0, 0, 0], [1, 0, 0]])
    inputs = [x.requires_grad_() for x in (emissions, *make_chain(3))]

    def likelihood(emissions, *chain):
        return log_likelihood(emissions, mask, LinearChain(*chain), tags)

    def first_marginals(emissions, *chain):
        return marginals(emissions, mask, LinearChain(*chain))[..., 0]

    assert torch.autograd.gradcheck(likelihood, inputs)
    assert torch.autograd.gradcheck(first_marginals, inputs)


@pytest.mark.parametrize("constrained", [False, True])
def test_nan_in_padding_does_not_reach_the_gradients(constrained):
    emissions, mask = make_batch([2, 1, 3], 3)
    inputs = [x.requires_grad_() for x in (emissions, *make_chain(3, constrained=constrained))]
    chain = LinearChain(*inputs[1:])
    loss = marginals(emissions, mask, chain)[0, 0, 1]
    loss = (
        loss - log_likelihood(emissions, mask, chain, torch.zeros_like(mask, dtype=int))[:2].sum()
    )
    loss.backward()
    assert all(x.grad.isfinite().all() for x in inputs)
    assert (emissions.grad[~mask] == 0).all()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_marginals_need_no_gradient_mode(mode):
    emissions, mask = make_batch(LENGTHS, 3)
    chain = LinearChain(*(x.requires_grad_() for x in make_chain(3)))
    with mode():
        found = marginals(emissions, mask, chain)
    assert not found.requires_grad
    assert torch.equal(found, marginals(emissions, mask, chain).detach())
    assert all(x.grad is None for x in chain)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_has_only_the_error_of_its_inputs(dtype):
    emissions, mask = make_batch(LENGTHS, 4)
    emissions, chain = emissions.to(dtype), LinearChain(*(x.to(dtype) for x in make_chain(4)))
    exact = emissions.double(), mask, LinearChain(*(x.double() for x in chain))
    tags = viterbi(*exact)
    assert torch.equal(viterbi(emissions, mask, chain), tags)
    for function, extra in ((marginals, []), (next_marginals, [tags]), (log_likelihood, [tags])):
        found = function(emissions, mask, chain, *extra)
        assert found.dtype == torch.float32
        expected = function(*exact, *extra).float()
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1, 100])
def test_float32_suffices_for_long_sentences_and_large_scores(scale):
    emissions, mask = make_batch([1000], 3)
    emissions, chain = 20 + scale * emissions, make_chain(3, constrained=True)
    small = emissions.float(), mask, LinearChain(*(x.float() for x in chain))
    tags = viterbi(emissions, mask, chain)
    for function, extra in ((marginals, []), (next_marginals, [tags])):
        expected = function(emissions, mask, chain, *extra).float()
        found = function(*small, *extra)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6 * max(scale, 5))


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.data(), st.integers(1, 3), st.integers(1, 4))
def test_ties_go_to_the_lowest_index_of_the_last_word_first(data, tags, tokens):
    def tensor(*shape):
        size = math.prod(shape)
        numbers = st.lists(st.integers(-2, 2), min_size=size, max_size=size)
        return torch.tensor(data.draw(numbers)).float().view(shape)

    emissions, mask = tensor(1, tokens, tags), torch.ones(1, tokens, dtype=torch.bool)
    chain = LinearChain(tensor(tags, tags), tensor(tags), tensor(tags))
    paths = paths_of(emissions[0], chain)
    ties = [path for path, value in paths.items() if value == max(paths.values())]
    assert tuple(viterbi(emissions, mask, chain)[0].tolist()) == min(
        ties, key=lambda tie: tie[::-1]
    )


def test_the_fewest_forbidden_transitions_win_if_none_is_allowed():
    """Tag 0 starts no sentence, and the only transition is from 0 to 0."""
    chain = make_chain(2)
    chain = LinearChain(*(torch.zeros_like(x) for x in chain))
    chain.start[0] = chain.transitions[0, 1] = chain.transitions[1, :] = FORBIDDEN
    emissions, mask = torch.zeros(1, 3, 2), torch.ones(1, 3, dtype=torch.bool)
    assert viterbi(emissions, mask, chain).tolist() == [[0, 0, 0]]
    assert marginals(emissions, mask, chain).isfinite().all()
