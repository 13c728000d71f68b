"""The kernels. The tests of csoftmax and of the recursions compare their results with those of torch."""

import math
from functools import partial

import numpy
import pytest
import torch

from allennlp_nef.nn import kernels
from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests.nn.csoftmax_problems import values_of

pytest.importorskip("numba")


@pytest.mark.parametrize("name, lowest, highest", [("exp", -120, 0), ("tanh", -30, 30)])
def test_functions_have_the_error_of_float32(name, lowest, highest):
    from allennlp_nef.nn.kernels import arithmetic

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
    from allennlp_nef.nn.sketching import compiled_attention
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
    from allennlp_nef.nn.sketching.compiled_attention import constrained_softmax_steps
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
    from allennlp_nef.nn.kernels.arithmetic import compiled

    names = {}
    exec("def twice(x): return 2 * x", names)
    assert compiled(names["twice"])(3) == 6


def test_tensors_may_have_any_strides():
    z, u = (tensor.float() for tensor in values_of("tight", 6, batch=4))
    expected = constrained_softmax(z, u)
    strided = torch.stack([z, z], -1)[..., 0]
    torch.testing.assert_close(constrained_softmax(strided, u.t().contiguous().t()), expected)
    torch.testing.assert_close(constrained_softmax(z.t(), u.t(), dim=0).t(), expected)
