"""The kernels. The tests of csoftmax and of the recursions compare their results with those of torch."""

import math
from functools import partial

import numpy
import pytest
import torch
import torchcrf

from allennlp_nef.nn import _kernels as kernels
from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests.nn.csoftmax_problems import values_of

pytestmark = pytest.mark.skipif(not kernels.is_available(), reason="needs numba")


@pytest.mark.parametrize("name, lowest, highest", [("exp", -120, 0), ("tanh", -30, 30)])
def test_functions_have_the_error_of_float32(name, lowest, highest):
    from allennlp_nef.nn._kernels import arithmetic

    numbers = numpy.linspace(lowest, highest, 100_001).astype(numpy.float32)
    numbers = numpy.append(numbers, numpy.float32([0, -1e-8, -1e-30, lowest, highest]))
    function = getattr(arithmetic, name)
    results = numpy.array([function(number) for number in numbers])
    expected = getattr(numpy, name)(numbers.astype(float))
    assert numpy.abs(results - expected).max() < 2e-7
    large = expected > 1e-37  # relative, too
    if name == "exp":
        assert (numpy.abs(results - expected) / expected)[large].max() < 3e-7
    assert math.isnan(function(numpy.float32("nan")))


def test_a_score_that_is_not_a_number_shows():
    z, u = (tensor.float() for tensor in values_of("random", 5, batch=3))
    z[1, 2] = math.nan
    from allennlp_nef.nn.constrained_softmax import solve

    weights = solve(z, u, u <= 0).weights
    assert weights[1].isnan().any() and weights[::2].isfinite().all()


@pytest.mark.parametrize("upper_bound", [1.0, 0.7, 1.5])
def test_steps_of_attention_are_those_in_torch(upper_bound):
    from allennlp_nef.nn.sketching import _compiled_attention as compiled_attention
    from allennlp_nef.nn.sketching.stepwise_attention import ConstrainedSoftmaxSteps

    generator = torch.Generator().manual_seed(0)
    draw = partial(torch.randn, generator=generator)
    mask = torch.arange(6) < torch.tensor([6, 6, 3]).unsqueeze(1)
    options = mask, torch.float32, 1.0, 0.0, upper_bound
    ours = compiled_attention.constrained_softmax_steps(*options)
    theirs = ConstrainedSoftmaxSteps(*options)
    assert isinstance(ours, compiled_attention.CompiledConstrainedSoftmaxSteps)
    sizes, scores, states = [3, 3, 2, 2], [2 * draw(3, 6) for _ in range(4)], []
    for _ in range(2):  # the second time from the state before the second step, as with checkpoints
        for step in range(len(states) and 1, 4):
            if step == 1 and not states:
                states = [ours.state(), theirs.state()]
            size = sizes[step]
            alpha = [each.forward(step, scores[step][:size], True) for each in (ours, theirs)]
            torch.testing.assert_close(*alpha, rtol=0, atol=1e-6)
            words = [each.open_words(size) for each in (ours, theirs)]
            assert words[0] is words[1] is None or torch.equal(*words)
        ours.restore(states[0])
        theirs.restore(states[1])
    for step in reversed(range(4)):
        grad = draw(sizes[step], 6)
        grads = [each.backward(step, grad) for each in (ours, theirs)]
        torch.testing.assert_close(*grads, rtol=0, atol=1e-5)
    for each in (ours, theirs):
        each.keep(torch.tensor([1]))
    alpha = [each.forward(1, scores[1][1:2], False) for each in (ours, theirs)]
    torch.testing.assert_close(*alpha, rtol=0, atol=1e-6)


def test_steps_of_attention_are_in_torch_without_a_kernel():
    from allennlp_nef.nn.sketching._compiled_attention import constrained_softmax_steps
    from allennlp_nef.nn.sketching.stepwise_attention import ConstrainedSoftmaxSteps

    mask = torch.ones(2, 3, dtype=torch.bool)
    for options in [
        (mask, torch.float64, 1.0, 0.0),
        (mask, torch.float32, 0.5, 0.0),
        (mask, torch.float32, 1.0, 0.1),
        (mask[:, :0], torch.float32, 1.0, 0.0),
    ]:
        assert isinstance(constrained_softmax_steps(*options), ConstrainedSoftmaxSteps)


def test_the_variable_turns_them_off(monkeypatch):
    numbers = torch.zeros(1)
    assert kernels.have_kernels(numbers)
    assert not kernels.have_kernels(numbers, numbers.double())
    monkeypatch.setenv(kernels.VARIABLE, "0")
    kernels.is_available.cache_clear()
    assert not kernels.have_kernels(numbers)
    monkeypatch.undo()
    kernels.is_available.cache_clear()


def test_functions_without_a_file_are_compiled_too():
    """As in a folder that cannot be written to: the code cannot be kept."""
    from allennlp_nef.nn._kernels.arithmetic import compiled

    names = {}
    exec("def twice(x): return 2 * x", names)
    assert compiled(names["twice"])(3) == 6


def test_tensors_may_have_any_strides():
    z, u = (tensor.float() for tensor in values_of("tight", 6, batch=4))
    expected = constrained_softmax(z, u)
    strided = torch.stack([z, z], -1)[..., 0]
    torch.testing.assert_close(constrained_softmax(strided, u.t().contiguous().t()), expected)
    torch.testing.assert_close(constrained_softmax(z.t(), u.t(), dim=0).t(), expected)


@pytest.mark.parametrize("tags", [1, 2, 9, 40])
def test_chains_are_those_in_torch(tags, monkeypatch):
    from allennlp_nef.nn import linear_chain

    generator = torch.Generator().manual_seed(0)
    draw = partial(torch.randn, generator=generator)
    lengths = torch.tensor([7, 1, 0, 120, 3, 7])
    mask = torch.arange(120) < lengths.unsqueeze(1)
    emissions = 5 * draw(120, 6, tags).transpose(0, 1)
    emissions[~mask] = math.nan
    emissions[4, 1, 0] = math.nan  # a word: it shows in this sentence, and in no other
    chain = draw(tags, tags), draw(tags), draw(tags)
    if tags > 1:
        chain[0][0, 1] = chain[0][:, -1] = chain[1][0] = chain[2][-1] = -math.inf
    before = torch.randint(tags, mask.shape, generator=generator)

    def results():
        path = linear_chain.viterbi(emissions, mask, *chain)
        words = linear_chain.token_marginals(emissions, mask, *chain)
        return [
            path,
            words,
            *linear_chain.transition_probabilities(emissions, mask, *chain, before),
        ]

    calls = []
    monkeypatch.setattr(linear_chain, "have_kernels", lambda *_: calls.append(1) or True)
    path, *ours = results()
    assert len(calls) == 3
    monkeypatch.setattr(linear_chain, "have_kernels", lambda *_: False)
    expected_path, *theirs = results()
    is_number = torch.arange(6) != 4
    assert torch.equal(path[is_number], expected_path[is_number])
    assert (path[4] < tags).all() and not path[~mask].any()
    for found, expected in zip(ours, theirs):
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-6, equal_nan=True)
    assert ours[0][4, :3].isnan().any()


def test_chains_with_gradients_are_in_torch():
    from allennlp_nef.nn.linear_chain import token_marginals

    emissions = torch.randn(1, 3, 2, requires_grad=True)
    chain = torch.zeros(2, 2), torch.zeros(2), torch.zeros(2)
    token_marginals(emissions, torch.ones(1, 3, dtype=torch.bool), *chain)[0, 0, 0].backward()
    assert emissions.grad.abs().sum() > 0


@pytest.mark.parametrize("tags", [1, 2, 9, 40])
def test_the_likelihood_and_its_gradient_are_those_of_pytorch_crf(tags):
    from allennlp_nef.nn.linear_chain import LogLikelihood

    torch.manual_seed(0)
    crf = torchcrf.CRF(tags, batch_first=True)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter, std=2)
    lengths = torch.tensor([7, 1, 0, 60, 3])
    mask = torch.arange(60) < lengths.unsqueeze(1)
    emissions = (5 * torch.randn(5, 60, tags)).masked_fill(~mask.unsqueeze(-1), math.nan)
    emissions[4, 1, 0] = 300
    gold, weights = torch.randint(tags, mask.shape), torch.randn(5)
    ours = [emissions, crf.transitions, crf.start_transitions, crf.end_transitions]
    ours = [each.detach().clone().requires_grad_() for each in ours]
    found = LogLikelihood.apply(*ours, mask, gold)
    grads = torch.autograd.grad((found * weights).sum(), ours)

    crf.double()
    rows = lengths > 0
    words = emissions[rows].nan_to_num(0).double().requires_grad_()
    expected = torch.zeros(5).double()
    expected[rows] = crf(words, gold[rows], mask[rows], reduction="none")
    theirs = [words, crf.transitions, crf.start_transitions, crf.end_transitions]
    expected_grads = list(torch.autograd.grad((expected * weights).sum(), theirs))
    expected_grads[0] = torch.zeros_like(emissions).double().index_put((rows,), expected_grads[0])
    torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-4)
    for grad, expected_grad in zip(grads, expected_grads):
        torch.testing.assert_close(grad.double(), expected_grad, rtol=1e-4, atol=1e-4)


def test_a_tag_that_is_none_is_an_error():
    from allennlp_nef.nn.linear_chain import LogLikelihood

    chain, mask = (torch.zeros(2, 2), torch.zeros(2), torch.zeros(2)), torch.ones(1, 2) > 0
    with pytest.raises(IndexError, match="expected indices from 0 to 1, got 0 to 2"):
        LogLikelihood.apply(torch.zeros(1, 2, 2), *chain, mask, torch.tensor([[0, 2]]))


class TestMisuse:
    """Kernels check no bounds, so all this is checked before."""

    chain = torch.zeros(2, 2), torch.zeros(2), torch.zeros(2)

    @pytest.mark.parametrize(
        "scores, mask, tags",
        [
            ((1, 3, 2), (1, 4), (1, 4)),
            ((1, 3, 2), (2, 3), (2, 3)),
            ((1, 3, 3), (1, 3), (1, 3)),
            ((2, 3, 2), (2, 3), (1, 3)),
        ],
    )
    def test_shapes_that_do_not_agree_are_an_error(self, scores, mask, tags):
        from allennlp_nef.nn import linear_chain
        from allennlp_nef.nn.linear_chain import LogLikelihood

        mask, gold = torch.ones(mask, dtype=torch.bool), torch.zeros(tags, dtype=torch.long)
        with pytest.raises(ValueError, match="expected emissions"):
            LogLikelihood.apply(torch.zeros(scores), *self.chain, mask, gold)
        if tags == tuple(mask.shape):
            for function in (linear_chain.viterbi, linear_chain.token_marginals):
                with pytest.raises(ValueError, match="expected emissions"):
                    function(torch.zeros(scores), mask, *self.chain)

    def test_a_change_before_the_backward_pass_is_an_error(self):
        from allennlp_nef.nn.linear_chain import LogLikelihood

        for changed in range(4):
            inputs = [torch.zeros(1, 3, 2), *self.chain]
            inputs = [each.clone().requires_grad_() for each in inputs]
            mask, gold = torch.ones(1, 3) > 0, torch.zeros(1, 3, dtype=torch.long)
            found = LogLikelihood.apply(*inputs, mask, gold).sum()
            with torch.no_grad():
                inputs[changed].add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                found.backward()

    def test_a_gradient_of_the_gradient_is_an_error(self):
        from allennlp_nef.nn.linear_chain import LogLikelihood

        scores = torch.zeros(1, 3, 2, requires_grad=True)
        gold = torch.zeros(1, 3, dtype=torch.long)
        found = LogLikelihood.apply(scores, *self.chain, torch.ones(1, 3) > 0, gold).sum()
        with pytest.raises(RuntimeError, match="differentiable once"):
            torch.autograd.grad(found, scores, create_graph=True)
