import math

import numpy
import pytest
import torch
import torchcrf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.nn import linear_chain
from allennlp_nef.nn.linear_chain import (
    log_likelihoods,
    token_marginals,
    transition_probabilities,
    viterbi,
)
from tests import oracles

LENGTHS = [5, 1, 0, 3, 2, 4]


def chain(tags, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (tags, tags), (tags,), (tags,)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def masked_chain(tags, seed=0):
    """Like BIO: the last tag neither starts a sentence nor follows the first; the second ends none."""
    transitions, start, end = chain(tags, seed)
    transitions[0, -1] = start[-1] = end[1] = -math.inf
    return transitions, start, end


CHAINS = [(chain, 1), (chain, 2), (chain, 3), (masked_chain, 3), (masked_chain, 4)]


def batch_of(lengths, tags, seed=0, padding=math.nan):
    generator = torch.Generator().manual_seed(seed)
    shape = len(lengths), max(lengths), tags
    emissions = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return emissions.masked_fill(~mask.unsqueeze(-1), padding), mask


def paths_of(emissions, parameters):
    """{path: score} of one sentence, of allowed paths."""
    scores = oracles.path_scores(*(x.numpy() for x in (emissions, *parameters)))
    return {path: score for path, score in scores.items() if score > -math.inf}


def probabilities_of(paths):
    log_z = oracles.log_sum_exp(paths.values())
    return {path: math.exp(score - log_z) for path, score in paths.items()}


@pytest.mark.parametrize("make_chain, tags", CHAINS)
@pytest.mark.parametrize("seed", [0, 1])
class TestAgainstAllPaths:
    """Lengths 0 to 5 in one batch, with NaN in the padding; some steps forbidden."""

    def test_viterbi_finds_the_best_of_all_taggings(self, make_chain, tags, seed):
        parameters = make_chain(tags, seed)
        emissions, mask = batch_of(LENGTHS, tags, seed)
        best = viterbi(emissions, mask, *parameters)
        assert best.dtype == torch.long
        assert (best[~mask] == 0).all()
        for row, length in enumerate(LENGTHS):
            if length:
                paths = paths_of(emissions[row, :length], parameters)
                assert tuple(best[row, :length].tolist()) == max(paths, key=paths.get)

    def test_log_likelihoods_equal_those_of_enumeration(self, make_chain, tags, seed):
        parameters = make_chain(tags, seed)
        emissions, mask = batch_of(LENGTHS, tags, seed)
        best = viterbi(emissions, mask, *parameters)
        found = log_likelihoods(emissions, mask, *parameters, best)
        for row, length in enumerate(LENGTHS):
            expected = 0.0
            if length:
                paths = probabilities_of(paths_of(emissions[row, :length], parameters))
                expected = math.log(paths[tuple(best[row, :length].tolist())])
            assert float(found[row]) == pytest.approx(expected, abs=1e-9)

    def test_marginals_equal_those_of_enumeration(self, make_chain, tags, seed):
        parameters = make_chain(tags, seed)
        emissions, mask = batch_of(LENGTHS, tags, seed)
        marginals = token_marginals(emissions, mask, *parameters)
        assert (marginals[~mask] == 0).all()
        torch.testing.assert_close(marginals.sum(-1), mask.double())
        for row, length in enumerate(LENGTHS):
            if length:
                expected = numpy.zeros((length, tags))
                paths = probabilities_of(paths_of(emissions[row, :length], parameters))
                for path, probability in paths.items():
                    expected[range(length), path] += probability
                numpy.testing.assert_allclose(marginals[row, :length], expected, atol=1e-9)

    def test_transition_probabilities_equal_those_of_enumeration(self, make_chain, tags, seed):
        """P(y_i = a and y_(i+1) = b) = P(y_i = a) P(y_(i+1) = b | y_i = a), for every a."""
        parameters = make_chain(tags, seed)
        emissions, mask = batch_of(LENGTHS, tags, seed)
        for tag in range(tags):
            given = torch.full(mask.shape, tag)
            first, following = transition_probabilities(emissions, mask, *parameters, given)
            assert torch.equal(first, token_marginals(emissions, mask, *parameters))
            assert (following[~mask[:, 1:]] == 0).all()
            torch.testing.assert_close(following.sum(-1), mask[:, 1:].double())
            pairs = (first[:, :-1, tag].unsqueeze(-1) * following).numpy()
            for row, length in enumerate(LENGTHS):
                if length:
                    expected = numpy.zeros((length - 1, tags))
                    paths = probabilities_of(paths_of(emissions[row, :length], parameters))
                    for path, probability in paths.items():
                        for i, (a, b) in enumerate(zip(path, path[1:])):
                            expected[i, b] += probability * (a == tag)
                    numpy.testing.assert_allclose(pairs[row, : length - 1], expected, atol=1e-9)


def test_gradients_of_log_likelihoods_are_those_of_finite_differences():
    emissions, mask = batch_of([3, 0, 1], 3, padding=0.0)
    tags = torch.tensor([[2, 0, 1], [0, 0, 0], [1, 0, 0]])
    inputs = [x.requires_grad_() for x in (emissions, *chain(3))]
    assert torch.autograd.gradcheck(
        lambda emissions, *parameters: log_likelihoods(emissions, mask, *parameters, tags), inputs
    )


NUMBERS = st.integers(-2, 2).map(float)
STEPS = st.one_of(NUMBERS, st.just(-math.inf))


@settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data(), st.integers(1, 3), st.integers(1, 4))
def test_ties_go_to_the_lowest_index_of_the_last_word_first(data, tags, tokens):
    def tensor(elements, *shape):
        size = math.prod(shape)
        return torch.tensor(data.draw(st.lists(elements, min_size=size, max_size=size))).view(shape)

    emissions = tensor(NUMBERS, 1, tokens, tags)
    parameters = tensor(STEPS, tags, tags), tensor(STEPS, tags), tensor(STEPS, tags)
    paths = paths_of(emissions[0], parameters)
    path = viterbi(emissions, torch.ones(1, tokens, dtype=torch.bool), *parameters)[0].tolist()
    if paths:
        ties = [tie for tie in paths if paths[tie] == max(paths.values())]
        assert tuple(path) == min(ties, key=lambda tie: tie[::-1])
    else:
        assert all(0 <= tag < tags for tag in path)


def test_viterbi_of_many_tags_agrees_with_pytorch_crf():
    tags = 33
    torch.manual_seed(0)
    crf = torchcrf.CRF(tags, batch_first=True)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    emissions, mask = batch_of([25, 1, 12, 24], tags, padding=0.0)
    emissions = emissions.float()
    best = viterbi(emissions, mask, crf.transitions, crf.start_transitions, crf.end_transitions)
    assert [row[kept].tolist() for row, kept in zip(best, mask)] == crf.decode(emissions, mask)
    assert not best.requires_grad


@pytest.mark.parametrize("sentences", [0, 2, 4])
def test_block_size_does_not_change_the_tagging(monkeypatch, sentences):
    emissions, mask = batch_of(LENGTHS, 4)
    whole = viterbi(emissions, mask, *chain(4))
    assert len(whole[mask].unique()) == 4
    numbers = sentences * 4 * linear_chain.ROW_MULTIPLE
    monkeypatch.setattr(linear_chain, "MAX_BLOCK_NUMBERS", numbers)
    assert torch.equal(viterbi(emissions, mask, *chain(4)), whole)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_empty_batches_work(shape):
    emissions, mask = torch.zeros(*shape, 2), torch.zeros(shape, dtype=torch.bool)
    tags = viterbi(emissions, mask, *chain(2))
    assert tags.shape == shape
    assert tags.dtype == torch.long
    assert token_marginals(emissions, mask, *chain(2)).shape == emissions.shape
    first, following = transition_probabilities(emissions, mask, *chain(2), tags)
    assert first.shape == emissions.shape
    assert following.shape == (shape[0], max(shape[1] - 1, 0), 2)


def test_the_fewest_forbidden_transitions_win_where_all_are_forbidden():
    """Tag 0 starts no sentence; the one transition is 0 to 0: every tagging breaks a rule, 0 0 0 only once."""
    transitions = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]])
    start, end = torch.tensor([-math.inf, 0.0]), torch.tensor([0.0, 0.0])
    mask = torch.ones(1, 3, dtype=torch.bool)
    scores = oracles.path_scores(
        numpy.zeros((3, 2)), *(x.clamp(min=-1.0).numpy() for x in (transitions, start, end))
    )
    fewest = [path for path in scores if scores[path] == -1]
    assert max(scores.values()) == -1
    for dtype in (torch.float32, torch.float64):
        emissions = torch.zeros(1, 3, 2, dtype=dtype)
        assert tuple(viterbi(emissions, mask, transitions, start, end)[0].tolist()) in fewest
        marginals = token_marginals(emissions, mask, transitions, start, end)
        expected = torch.tensor(
            [[sum(p[i] == tag for p in fewest) for tag in range(2)] for i in range(3)], dtype=dtype
        )
        torch.testing.assert_close(marginals[0], expected / len(fewest))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("forbidden", [-math.inf, -1e4])
def test_low_precision_has_the_error_of_its_inputs(dtype, forbidden):
    emissions, mask = batch_of(LENGTHS, 4)
    rounded = [
        x.clamp(min=forbidden).to(dtype) for x in (emissions, *masked_chain(4))
    ]  # clamp keeps NaN
    exact = [x.double() for x in rounded]
    given = viterbi(exact[0], mask, *exact[1:])
    assert torch.equal(viterbi(rounded[0], mask, *rounded[1:]), given)
    found = transition_probabilities(rounded[0], mask, *rounded[1:], given)
    for actual, expected in zip(found, transition_probabilities(exact[0], mask, *exact[1:], given)):
        assert actual.dtype == torch.float32
        torch.testing.assert_close(actual, expected.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make_chain", [chain, masked_chain])
def test_nan_in_padding_does_not_reach_the_gradient(make_chain):
    emissions = torch.full((1, 3, 3), math.nan, dtype=torch.float64)
    emissions[:, :2] = 0.5
    inputs = [emissions, *make_chain(3)]
    for x in inputs:
        x.requires_grad_()
    mask = torch.tensor([[True, True, False]])
    token_marginals(inputs[0], mask, *inputs[1:])[0, 0, 1].backward()
    assert all(torch.isfinite(x.grad).all() for x in inputs)
    assert (emissions.grad[:, 2] == 0).all()
    assert (emissions.grad[:, :2] != 0).any()


def test_long_sentence_loses_no_precision():
    """Scores of ten thousands, where float32 resolves hundredths."""
    tokens = 1000
    emissions, mask = batch_of([tokens], 3)
    emissions = (20 + emissions).float()
    parameters = [x.float() for x in masked_chain(3)]
    exact = [x.double() for x in (emissions, *parameters)]
    tags = viterbi(exact[0], mask, *exact[1:])
    assert torch.equal(viterbi(emissions, mask, *parameters), tags)
    for actual, expected in zip(
        transition_probabilities(emissions, mask, *parameters, tags),
        transition_probabilities(exact[0], mask, *exact[1:], tags),
    ):
        torch.testing.assert_close(actual, expected.float(), rtol=0, atol=2e-6)
