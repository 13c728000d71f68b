"""w^T tanh(q_i + k_j) against loops, and what it costs."""

import math
import re

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from allennlp_nef.nn import additive_scores as module
from allennlp_nef.nn.additive_scores import MAX_EXPONENT, additive_scores


def oracle(queries, keys, vector):
    return torch.tensor(
        [
            [
                [sum(w * math.tanh(a + b) for w, a, b in zip(vector.tolist(), q, k)) for k in of_k]
                for q in of_q
            ]
            for of_q, of_k in zip(queries.tolist(), keys.tolist())
        ],
        dtype=torch.float64,
    ).view(len(queries), queries.size(1), keys.size(1))


def problem(batch=2, n=5, m=4, dim=3, seed=0, scale=1.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    shapes = (batch, n, dim), (batch, m, dim), (dim,)
    queries, keys, vector = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes
    )
    return [(scale * queries).to(dtype), (scale * keys).to(dtype), vector.to(dtype)]


def plain(queries, keys, vector):
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector


def results(run, tensors, seed=0):
    """The scores and the gradients of all inputs."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    scores = run(*inputs)
    generator = torch.Generator().manual_seed(seed)
    scores.backward(torch.randn(scores.shape, generator=generator, dtype=torch.float64).to(scores))
    return [scores.detach(), *(tensor.grad for tensor in inputs)]


def assert_all_close(found, expected, tolerance):
    for ours, other in zip(found, expected):
        torch.testing.assert_close(ours.double(), other.double(), rtol=tolerance, atol=tolerance)


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5)),
    scale=st.sampled_from([1e-3, 1.0, 10.0, 30.0, 200.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_scores_and_gradients_equal_those_of_loops(sizes, scale, dtype, seed):
    tensors = problem(*sizes, seed=seed, scale=scale, dtype=dtype)
    found = results(additive_scores, tensors)
    tolerance = 1e-9 if dtype == torch.float64 else 1e-4
    assert found[0].dtype == dtype
    torch.testing.assert_close(found[0].double(), oracle(*tensors), rtol=0, atol=tolerance)
    expected = results(plain, [tensor.double() for tensor in tensors])
    assert_all_close(found[1:], expected[1:], tolerance)


@pytest.mark.parametrize("max_numbers", [2**22, 50, 1])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_gradients_are_those_of_finite_differences(monkeypatch, max_numbers, scale):
    monkeypatch.setattr(module, "MAX_NUMBERS", max_numbers)
    tensors = [tensor.requires_grad_() for tensor in problem(scale=scale)]
    assert gradcheck(additive_scores, tensors)


class TestRange:
    @pytest.mark.parametrize("largest", [MAX_EXPONENT, 40.1, 45.0, 100.0, 1e4])
    def test_large_queries_and_keys_are_exact(self, largest):
        """exp(2 q) is no number of float32 from 44.4 on; sums are as small as any."""
        signs = torch.tensor([1.0, -1.0])
        ends = largest * signs.view(1, 2, 1)
        near = torch.tensor([0.0, 0.5, -0.5, 1.0]).view(1, 1, 4)
        queries, keys = ends + near, (-ends + 0.25).expand(1, 2, 4)
        vector = torch.tensor([1.0, -2.0, 3.0, 0.5])
        found = results(additive_scores, [queries, keys.contiguous(), vector])
        exact = [tensor.double() for tensor in (queries, keys, vector)]
        # The inputs themselves have 24 bits.
        tolerance = max(1e-4, largest * 1e-6)
        assert_all_close(found[:1], [oracle(*exact)], tolerance)
        assert_all_close(found, results(plain, exact), tolerance)

    @pytest.mark.parametrize("which", [0, 1])
    def test_large_queries_or_keys_are_exact(self, which):
        for value in (200.0, -200.0, math.inf, -math.inf):
            tensors = problem(dtype=torch.float32)
            tensors[which][0, 1] = value
            found = results(additive_scores, tensors)
            assert all(tensor.isfinite().all() for tensor in found)
            assert_all_close(found, results(plain, [t.double() for t in tensors]), 1e-4)

    def test_nan_stays_with_its_word(self):
        queries, keys, vector = problem()
        expected = additive_scores(queries, keys, vector)
        queries[1, 2] = math.nan
        scores = additive_scores(queries, keys, vector)
        assert scores[1, 2].isnan().all()
        kept = torch.arange(5) != 2
        torch.testing.assert_close(scores[:, kept], expected[:, kept])


class TestPrecision:
    def test_bfloat16_has_the_error_of_its_inputs(self):
        """Only the rounding of the inputs."""
        tensors = problem(dtype=torch.bfloat16)
        found = results(additive_scores, tensors)
        assert [tensor.dtype for tensor in found] == [torch.float32, *[torch.bfloat16] * 3]
        expected = results(additive_scores, [tensor.double() for tensor in tensors])
        assert_all_close(found[:1], expected[:1], 1e-5)
        assert_all_close(found[1:], expected[1:], 0.02)

    def test_a_sum_over_a_million_pairs_keeps_its_digits(self):
        tensors = problem(batch=1, n=1200, m=1200, dim=2, dtype=torch.float32)
        inputs = [tensor.requires_grad_() for tensor in tensors]
        (found,) = torch.autograd.grad(additive_scores(*inputs).sum(), inputs[2:])
        queries, keys, _ = (tensor.detach().double() for tensor in tensors)
        expected = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)).sum((0, 1, 2))
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=5)  # of 1e6 terms

    def test_autocast_does_not_change_the_scores(self):
        tensors = problem(dtype=torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = results(additive_scores, tensors)
        for ours, other in zip(found, results(additive_scores, tensors)):
            assert torch.equal(ours, other)


class TestBackwardPass:
    @pytest.mark.parametrize("max_numbers", [2**22, 1])
    def test_a_second_backward_pass_gives_the_same_gradients(self, monkeypatch, max_numbers):
        monkeypatch.setattr(module, "MAX_NUMBERS", max_numbers)
        inputs = [tensor.requires_grad_() for tensor in problem()]
        scores = additive_scores(*inputs)
        gradient = torch.randn(scores.shape, generator=torch.Generator().manual_seed(1)).double()
        passes = [
            torch.autograd.grad(scores, inputs, factor * gradient, retain_graph=True)
            for factor in (1, 1, 3)
        ]
        for first, second, third in zip(*passes):
            assert torch.equal(first, second)
            torch.testing.assert_close(3 * first, third)

    @pytest.mark.parametrize("wanted", [0, 1, 2])
    def test_gradient_of_one_input_is_exact(self, wanted):
        inputs = problem()
        inputs[wanted].requires_grad_()
        additive_scores(*inputs).sum().backward()
        others = [tensor.detach().clone().requires_grad_() for tensor in inputs]
        plain(*others).sum().backward()
        torch.testing.assert_close(inputs[wanted].grad, others[wanted].grad)

    @pytest.mark.parametrize(
        "shapes",
        [
            [(4, 3, 5), (1, 2, 5), (5,)],
            [(4, 3, 5), (4, 2, 1), (5,)],
            [(4, 3, 5), (4, 2, 5), (6,)],
            [(4, 3, 5), (4, 2, 5), (1, 5)],
            [(3, 5), (2, 5), (5,)],
        ],
    )
    def test_shapes_that_do_not_agree_are_an_error(self, shapes):
        with pytest.raises(ValueError, match=re.escape(f"got {', '.join(map(str, shapes))}")):
            additive_scores(*map(torch.randn, shapes))

    def test_second_derivatives_are_an_error(self):
        inputs = [tensor.requires_grad_() for tensor in problem()]
        total = additive_scores(*inputs).sum()
        with pytest.raises(RuntimeError, match="additive_scores is differentiable once"):
            torch.autograd.grad(total, inputs, create_graph=True)


class TestBlocks:
    @pytest.mark.parametrize("max_numbers", [1, 24, 47, 50, 120])
    @pytest.mark.parametrize("scale", [1.0, 60.0])
    def test_block_size_does_not_change_the_scores(self, monkeypatch, max_numbers, scale):
        """A row has 24 numbers, all have 120."""
        tensors = problem(scale=scale)
        expected = results(additive_scores, tensors)
        monkeypatch.setattr(module, "MAX_NUMBERS", max_numbers)
        assert_all_close(results(additive_scores, tensors), expected, 1e-12)

    def test_no_tensor_is_larger_than_a_block(self, monkeypatch):
        sizes = []

        class Sizes(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                result = function(*args, **(kwargs or {}))
                found = result if isinstance(result, (list, tuple)) else [result]
                # What has storage of its own: a view of a block may be expanded.
                sizes.extend(
                    x.numel() for x in found if isinstance(x, torch.Tensor) and x.is_contiguous()
                )
                return result

        monkeypatch.setattr(module, "MAX_NUMBERS", 3000)
        inputs = [tensor.requires_grad_() for tensor in problem(2, 30, 20, 10)]
        gradient = torch.ones(2, 30, 20, dtype=torch.float64)
        for run, largest in ((additive_scores, 2800), (plain, 2 * 30 * 20 * 10)):
            sizes.clear()
            with Sizes():
                torch.autograd.grad(run(*inputs), inputs, gradient)
            assert max(sizes) == largest


@pytest.mark.parametrize("sizes", [(0, 3, 3, 2), (2, 0, 3, 2), (2, 3, 0, 2), (1, 1, 1, 1)])
def test_empty_and_single_inputs_work(sizes):
    tensors = problem(*sizes)
    found = results(additive_scores, tensors)
    assert found[0].shape == sizes[:3]
    assert_all_close(found, results(plain, tensors), 1e-12)
