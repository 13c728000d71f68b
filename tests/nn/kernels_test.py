"""The kernels. The tests of csoftmax and of the recursions compare their results with those of torch."""

import math

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
