"""The recursion with a backward pass of its own against the plain one."""

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    Entmax15Transform,
    LeftToRightTransform,
    RightToLeftTransform,
    SoftmaxTransform,
    SparsemaxTransform,
    UniformTransform,
)
from allennlp_nef.nn import recomputed_recursion
from allennlp_nef.nn.recomputed_sketching import recompute_sketches
from allennlp_nef.nn.sketching import sketch_full, sketch_single

PLAIN = {"full": sketch_full, "single": sketch_single}
PREATTENTION_DIM, SKETCH_DIM = 5, 4
TRANSFORMS = [
    ConstrainedSoftmaxTransform(),
    ConstrainedSoftmaxTransform(temperature=0.3, coverage_penalty=0.4),
    SoftmaxTransform(),
    SoftmaxTransform(temperature=0.3, coverage_penalty=0.4),
    SparsemaxTransform(coverage_penalty=0.5),
    Entmax15Transform(),
    UniformTransform(),
    LeftToRightTransform(),
    RightToLeftTransform(),
]
# Lengths, and the most steps: None for as many as words.
BATCHES = [
    ([7, 1, 4, 0, 6], None),
    ([7, 7, 7], None),
    ([5, 9, 2], 3),
    ([1], None),
    ([2], 5),
    ([0], None),
]


@pytest.fixture(params=["kept", "computed again"])
def segments(request, monkeypatch):
    """Whether a step's values are kept for the backward pass, or computed again from those some steps before."""
    if request.param == "computed again":
        monkeypatch.setattr(recomputed_recursion, "MOST_BYTES", 1)


class Problem:
    def __init__(self, lengths, most_steps, context_size=2, dtype=torch.float64, seed=0):
        generator = torch.Generator().manual_seed(seed)

        def randn(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

        self.lengths = torch.tensor(lengths)
        batch, tokens = len(lengths), max(1, *lengths, 1)
        rows = PREATTENTION_DIM + SKETCH_DIM
        self.mask = torch.arange(tokens) < self.lengths.unsqueeze(1)
        self.num_steps = self.lengths if most_steps is None else self.lengths.clamp(max=most_steps)
        self.inputs = [
            randn(batch, tokens, rows),
            randn(rows, (2 * context_size + 1) * SKETCH_DIM),
            randn(PREATTENTION_DIM),
        ]
        self.gradient = randn(batch, tokens, SKETCH_DIM)
        self.context_size = context_size

    def recomputed(self, form, transform, *inputs):
        rest = self.mask, self.num_steps, self.context_size
        return recompute_sketches(form, *inputs, transform.stepwise, *rest)

    def plain(self, form, transform, *inputs):
        rest = self.mask, self.num_steps, self.context_size
        return PLAIN[form](*inputs, transform, *rest).sketches

    def results(self, run, form, transform, dtype=None):
        """The sketches and the gradients of all inputs."""
        inputs = [
            tensor.detach().to(dtype or tensor.dtype).requires_grad_() for tensor in self.inputs
        ]
        sketches = run(form, transform, *inputs)
        sketches.backward(self.gradient.to(sketches.dtype))
        return [sketches.detach(), *(tensor.grad for tensor in inputs)]


def name_of(transform):
    return repr(transform)


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("form", PLAIN)
class TestAgainstThePlainForm:
    @pytest.mark.parametrize("transform", TRANSFORMS, ids=name_of)
    @pytest.mark.parametrize("lengths, most_steps", BATCHES)
    def test_double_precision(self, form, transform, lengths, most_steps):
        problem = Problem(lengths, most_steps)
        expected = problem.results(problem.plain, form, transform)
        for ours, plain in zip(problem.results(problem.recomputed, form, transform), expected):
            torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("seed", range(10))
    def test_single_precision(self, form, seed):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(0, 40, (8,), generator=generator).tolist()
        problem = Problem(lengths, [None, 5][seed % 2], dtype=torch.float32, seed=seed)
        problem.inputs[1] *= 0.3
        transform = ConstrainedSoftmaxTransform()
        ours, *of_ours = problem.results(problem.recomputed, form, transform)
        plain, *of_plain = problem.results(problem.plain, form, transform)
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-5)
        for one, other in zip(of_ours, of_plain):
            scale = max(1.0, float(other.abs().max()))
            torch.testing.assert_close(one / scale, other / scale, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("context_size", [0, 1, 4])
    def test_context_size(self, form, context_size):
        problem = Problem([3, 6], None, context_size)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.plain, form, transform)
        for ours, plain in zip(problem.results(problem.recomputed, form, transform), expected):
            torch.testing.assert_close(ours, plain)

    def test_bfloat16(self, form):
        problem = Problem([9, 5, 1], 4, dtype=torch.bfloat16)
        transform = ConstrainedSoftmaxTransform()
        low = problem.results(problem.recomputed, form, transform)
        exact = problem.results(problem.plain, form, transform, torch.float64)
        for ours, wanted in zip(low, exact):
            assert ours.dtype == torch.bfloat16
            error = (ours.double() - wanted).abs().max() / wanted.abs().max().clamp(min=1)
            assert error < 0.06

    def test_gradcheck(self, form):
        problem = Problem([4, 2, 3], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        transform = SoftmaxTransform(coverage_penalty=0.5)
        assert torch.autograd.gradcheck(
            lambda *inputs: problem.recomputed(form, transform, *inputs)[problem.mask], inputs
        )

    def test_what_padding_is_given(self, form):
        """Nothing of a gradient that reaches padding goes on, NaN included."""
        problem = Problem([4, 2], None)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.recomputed, form, transform)
        problem.gradient[1, 2:] = float("nan")
        for ours, before in zip(problem.results(problem.recomputed, form, transform), expected):
            assert torch.equal(ours, before)

    def test_a_second_backward_pass(self, form):
        problem = Problem([4, 2, 6], 3)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.recomputed(form, ConstrainedSoftmaxTransform(), *inputs)
        first = torch.autograd.grad(sketches, inputs, problem.gradient, retain_graph=True)
        second = torch.autograd.grad(sketches, inputs, problem.gradient)
        for one, other in zip(first, second):
            assert torch.equal(one, other)


@pytest.mark.parametrize("form", PLAIN)
class TestFunction:
    def test_without_gradient(self, form):
        problem = Problem([4, 2], None)
        transform = ConstrainedSoftmaxTransform()
        with torch.no_grad():
            sketches = problem.recomputed(form, transform, *problem.inputs)
        torch.testing.assert_close(sketches, problem.plain(form, transform, *problem.inputs))
        assert not sketches.requires_grad

    @pytest.mark.parametrize("no_gradient", [torch.no_grad, torch.inference_mode])
    def test_nothing_is_kept_without_gradient(self, form, no_gradient, monkeypatch):
        kept = []
        forward = recomputed_recursion.Recursion.forward

        def watched(run, keep):
            sketches = forward(run, keep)
            kept.append((keep, len(run.kept), len(run._states)))
            return sketches

        monkeypatch.setattr(recomputed_recursion.Recursion, "forward", watched)
        problem = Problem([4, 2], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        with no_gradient():
            problem.recomputed(form, ConstrainedSoftmaxTransform(), *inputs)
        assert kept == [(False, 0, 0)]

    def test_autocast_around_either_pass(self, form):
        problem = Problem([4, 2], None, dtype=torch.float32)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.recomputed, form, transform)

        def under_autocast(*arguments):
            with torch.autocast("cpu", torch.bfloat16):
                return problem.recomputed(*arguments)

        for run in (problem.recomputed, under_autocast):
            with torch.autocast("cpu", torch.bfloat16, enabled=run is problem.recomputed):
                results = problem.results(run, form, transform)
            for ours, wanted in zip(results, expected):
                assert torch.equal(ours, wanted)

    def test_an_error_in_the_backward_pass(self, form, monkeypatch):
        problem = Problem([4, 2], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.recomputed(form, ConstrainedSoftmaxTransform(), *inputs)
        expected = torch.autograd.grad(sketches, inputs, problem.gradient, retain_graph=True)
        with monkeypatch.context() as patch:
            steps = ConstrainedSoftmaxTransform().stepwise(problem.mask, torch.float64)
            backward = type(steps).backward

            def fail(attention, step, grad):
                if step == 1:
                    raise KeyboardInterrupt
                return backward(attention, step, grad)

            patch.setattr(type(steps), "backward", fail)
            with pytest.raises(KeyboardInterrupt):
                torch.autograd.grad(sketches, inputs, problem.gradient, retain_graph=True)
        again = torch.autograd.grad(sketches, inputs, problem.gradient)
        for one, other in zip(again, expected):
            assert torch.equal(one, other)

    def test_inputs_stay_as_they_are(self, form):
        problem = Problem([4, 2], None, dtype=torch.float32)
        before = [tensor.clone() for tensor in problem.inputs]
        problem.results(problem.recomputed, form, ConstrainedSoftmaxTransform())
        for tensor, copy in zip(problem.inputs, before):
            assert torch.equal(tensor, copy)

    @pytest.mark.parametrize(
        "changed",
        [
            lambda problem, inputs: inputs[1].add_(1),
            lambda problem, inputs: problem.mask.logical_not_(),
        ],
    )
    def test_inputs_that_change_before_the_backward_pass(self, form, changed):
        problem = Problem([4], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.recomputed(form, ConstrainedSoftmaxTransform(), *inputs)
        with torch.no_grad():
            changed(problem, inputs)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            sketches.sum().backward()

    def test_second_derivatives_are_an_error(self, form):
        problem = Problem([4], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.recomputed(form, ConstrainedSoftmaxTransform(), *inputs)
        (grad,) = torch.autograd.grad(sketches.square().sum(), inputs[:1], create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            grad.sum().backward()

    def test_what_is_kept(self, form, monkeypatch):
        """Of a long recursion the values of about as many steps as the root of their number."""
        monkeypatch.setattr(recomputed_recursion, "MOST_BYTES", 1)
        most = 0
        recursion = recomputed_recursion.Recursion
        advance = recursion._advance

        def counted(run, segment, keep):
            nonlocal most
            advance(run, segment, keep)
            most = max(most, len(run.kept) + len(run._states))

        monkeypatch.setattr(recursion, "_advance", counted)
        problem = Problem([100], None)
        problem.results(problem.recomputed, form, ConstrainedSoftmaxTransform())
        assert most == 20
