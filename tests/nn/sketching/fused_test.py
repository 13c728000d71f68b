"""The fused recursion against the reference recursion."""

import gc

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    Entmax15Transform,
    LeftToRightTransform,
    RightToLeftTransform,
    SoftmaxTransform,
    SparsemaxTransform,
    UniformTransform,
)
from allennlp_nef.nn.sketching import (
    fused_history,
    fused_recursion,
    fused_sketches,
    sketch_full,
    sketch_single,
)

REFERENCE = {"full": sketch_full, "single": sketch_single}
PREATTENTION_DIM, SKETCH_DIM = 5, 4
TRANSFORMS = [
    ConstrainedSoftmaxTransform(),
    ConstrainedSoftmaxTransform(temperature=0.3, coverage_penalty=0.4),
    ConstrainedSoftmaxTransform(upper_bound=0.3),
    ConstrainedSoftmaxTransform(upper_bound=1.7),
    ConstrainedSparsemaxTransform(),
    ConstrainedSparsemaxTransform(temperature=0.3, coverage_penalty=0.4, upper_bound=0.7),
    SoftmaxTransform(),
    SoftmaxTransform(temperature=0.3, coverage_penalty=0.4),
    SparsemaxTransform(coverage_penalty=0.5),
    Entmax15Transform(),
    UniformTransform(),
    LeftToRightTransform(),
    RightToLeftTransform(),
]
# Lengths, and the maximum number of steps: None for as many as words.
BATCHES = [
    ([7, 1, 4, 0, 6], None),
    ([7, 7, 7], None),
    ([5, 9, 2], 3),
    ([1], None),
    ([2], 5),
    ([0], None),
]


@pytest.fixture(params=["cached", "computed again"])
def segments(request, monkeypatch):
    """Whether the backward pass takes the values of a step from the cache or computes them again."""
    if request.param == "computed again":
        monkeypatch.setattr(fused_recursion, "MAX_CACHE_BYTES", 1)


class Problem:
    def __init__(self, lengths, max_steps, context_size=2, dtype=torch.float64, seed=0):
        generator = torch.Generator().manual_seed(seed)

        def randn(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

        self.lengths = torch.tensor(lengths)
        batch, tokens = len(lengths), max(1, *lengths, 1)
        rows = PREATTENTION_DIM + SKETCH_DIM
        self.mask = torch.arange(tokens) < self.lengths.unsqueeze(1)
        self.num_steps = self.lengths if max_steps is None else self.lengths.clamp(max=max_steps)
        self.inputs = [
            randn(batch, tokens, rows),
            randn(rows, (2 * context_size + 1) * SKETCH_DIM),
            randn(PREATTENTION_DIM),
        ]
        self.gradient = randn(batch, tokens, SKETCH_DIM)
        self.context_size = context_size

    def fused(self, form, transform, *inputs):
        rest = self.mask, self.num_steps, self.context_size
        return fused_sketches(form, *inputs, transform.stepwise(), *rest)

    def reference(self, form, transform, *inputs):
        rest = self.mask, self.num_steps, self.context_size
        return REFERENCE[form](*inputs, transform, *rest).sketches

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
@pytest.mark.parametrize("form", REFERENCE)
class TestAgainstTheReference:
    @pytest.mark.parametrize("transform", TRANSFORMS, ids=name_of)
    @pytest.mark.parametrize("lengths, max_steps", BATCHES)
    def test_results_are_equal_in_double_precision(self, form, transform, lengths, max_steps):
        problem = Problem(lengths, max_steps)
        expected = problem.results(problem.reference, form, transform)
        for ours, wanted in zip(problem.results(problem.fused, form, transform), expected):
            torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("transform", TRANSFORMS[1:7:5], ids=name_of)
    @pytest.mark.parametrize("lengths, max_steps", BATCHES)
    def test_sketches_of_all_steps_have_equal_gradients(self, form, transform, lengths, max_steps):
        problem = Problem(lengths, max_steps)
        rest = problem.mask, problem.num_steps, problem.context_size
        steps = max(1, int(problem.num_steps.max()))
        has_step = torch.arange(steps) < problem.num_steps.unsqueeze(1)
        torch.manual_seed(0)
        weights = torch.randn(len(lengths), steps, problem.mask.size(1), SKETCH_DIM).double()
        weights *= (has_step.unsqueeze(-1) & problem.mask.unsqueeze(1)).unsqueeze(-1)
        results = []
        for is_fused in (True, False):
            inputs = [tensor.detach().requires_grad_() for tensor in problem.inputs]
            if is_fused:
                last, history = fused_history(form, *inputs, transform.stepwise(), *rest)
            else:
                last, trace = REFERENCE[form](*inputs, transform, *rest, keep_trace=True)
                history = trace.sketches * has_step[..., None, None]
            weighted = (history * weights[:, : history.size(1)]).sum()
            loss = weighted + (last * problem.gradient).sum()
            results.append([last, weighted, *torch.autograd.grad(loss, inputs)])
        for ours, wanted in zip(*results):
            torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("transform", TRANSFORMS[:7:6], ids=name_of)
    @pytest.mark.parametrize("seed", range(4))
    def test_results_are_close_in_single_precision(self, form, seed, transform):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(0, 40, (8,), generator=generator).tolist()
        problem = Problem(lengths, [None, 5][seed % 2], dtype=torch.float32, seed=seed)
        problem.inputs[1] *= 0.3
        ours, *our_gradients = problem.results(problem.fused, form, transform)
        wanted, *wanted_gradients = problem.results(problem.reference, form, transform)
        torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-5)
        for one, other in zip(our_gradients, wanted_gradients):
            scale = max(1.0, float(other.abs().max()))
            torch.testing.assert_close(one / scale, other / scale, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("context_size", [0, 1, 4])
    def test_results_are_equal_for_each_context_size(self, form, context_size):
        problem = Problem([3, 6], None, context_size)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.reference, form, transform)
        for ours, wanted in zip(problem.results(problem.fused, form, transform), expected):
            torch.testing.assert_close(ours, wanted)

    def test_results_are_close_in_bfloat16(self, form):
        problem = Problem([9, 5, 1], 4, dtype=torch.bfloat16)
        transform = ConstrainedSoftmaxTransform()
        low = problem.results(problem.fused, form, transform)
        exact = problem.results(problem.reference, form, transform, torch.float64)
        for ours, wanted in zip(low, exact):
            assert ours.dtype == torch.bfloat16
            error = (ours.double() - wanted).abs().max() / wanted.abs().max().clamp(min=1)
            assert error < 0.06

    def test_gradients_are_those_of_finite_differences(self, form):
        problem = Problem([4, 2, 3], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        transform = SoftmaxTransform(coverage_penalty=0.5)
        assert torch.autograd.gradcheck(
            lambda *inputs: problem.fused(form, transform, *inputs)[problem.mask], inputs
        )

    def test_gradients_in_padding_have_no_effect(self, form):
        problem = Problem([4, 2], None)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.fused, form, transform)
        problem.gradient[1, 2:] = float("nan")
        for ours, before in zip(problem.results(problem.fused, form, transform), expected):
            assert torch.equal(ours, before)

    def test_a_second_backward_pass_gives_the_same_gradients(self, form):
        problem = Problem([4, 2, 6], 3)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.fused(form, ConstrainedSoftmaxTransform(), *inputs)
        first = torch.autograd.grad(sketches, inputs, problem.gradient, retain_graph=True)
        second = torch.autograd.grad(sketches, inputs, problem.gradient)
        for one, other in zip(first, second):
            assert torch.equal(one, other)


@pytest.mark.parametrize("form", REFERENCE)
class TestFusedSketches:
    def test_sketches_need_no_gradient(self, form):
        problem = Problem([4, 2], None)
        transform = ConstrainedSoftmaxTransform()
        with torch.no_grad():
            sketches = problem.fused(form, transform, *problem.inputs)
        torch.testing.assert_close(sketches, problem.reference(form, transform, *problem.inputs))
        assert not sketches.requires_grad

    @pytest.mark.parametrize("no_gradient", [torch.no_grad, torch.inference_mode])
    def test_nothing_is_cached_without_gradient(self, form, no_gradient):
        problem = Problem([50] * 4, None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        cached = numbers_at_the_last_step(problem, form, inputs)
        with no_gradient():
            not_cached = numbers_at_the_last_step(problem, form, inputs)
        assert not_cached < cached / 5

    def test_autocast_around_a_pass_does_not_change_the_result(self, form):
        problem = Problem([4, 2], None, dtype=torch.float32)
        transform = ConstrainedSoftmaxTransform()
        expected = problem.results(problem.fused, form, transform)

        def under_autocast(*arguments):
            with torch.autocast("cpu", torch.bfloat16):
                return problem.fused(*arguments)

        for run in (problem.fused, under_autocast):
            with torch.autocast("cpu", torch.bfloat16, enabled=run is problem.fused):
                results = problem.results(run, form, transform)
            for ours, wanted in zip(results, expected):
                assert torch.equal(ours, wanted)

    def test_another_backward_pass_works_after_an_error(self, form, monkeypatch):
        problem = Problem([4, 2], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.fused(form, ConstrainedSoftmaxTransform(), *inputs)
        expected = torch.autograd.grad(sketches, inputs, problem.gradient, retain_graph=True)
        with monkeypatch.context() as patch:
            steps = ConstrainedSoftmaxTransform().stepwise()(problem.mask, torch.float64)
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

    def test_inputs_are_not_changed(self, form):
        problem = Problem([4, 2], None, dtype=torch.float32)
        before = [tensor.clone() for tensor in problem.inputs]
        problem.results(problem.fused, form, ConstrainedSoftmaxTransform())
        for tensor, copy in zip(problem.inputs, before):
            assert torch.equal(tensor, copy)

    @pytest.mark.parametrize(
        "changed",
        [
            lambda problem, inputs: inputs[1].add_(1),
            lambda problem, inputs: problem.mask.logical_not_(),
        ],
    )
    def test_changed_inputs_are_an_error_in_the_backward_pass(self, form, changed):
        problem = Problem([4], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.fused(form, ConstrainedSoftmaxTransform(), *inputs)
        with torch.no_grad():
            changed(problem, inputs)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            sketches.sum().backward()

    def test_second_derivatives_are_an_error(self, form):
        problem = Problem([4], None)
        inputs = [tensor.requires_grad_() for tensor in problem.inputs]
        sketches = problem.fused(form, ConstrainedSoftmaxTransform(), *inputs)
        with pytest.raises(RuntimeError, match="neural_easy_first is differentiable once"):
            torch.autograd.grad(sketches.sum(), inputs, create_graph=True)

    def test_the_cache_grows_with_the_root_of_the_steps(self, form, monkeypatch):
        monkeypatch.setattr(fused_recursion, "MAX_CACHE_BYTES", 1)
        numbers = []
        for length in (25, 100):
            problem = Problem([length], length, dtype=torch.float32)
            inputs = [tensor.requires_grad_() for tensor in problem.inputs]
            numbers.append(numbers_at_the_last_step(problem, form, inputs) / length)
        # Four times the steps: twice the checkpoints, and twice the steps of the last segment.
        assert numbers[1] < 2.6 * numbers[0]


def numbers_at_the_last_step(problem, form, inputs):
    """How many numbers tensors hold in the last step of the forward pass, without those from before it."""
    make_attention = ConstrainedSoftmaxTransform().stepwise()
    before, last = live_numbers(), int(problem.num_steps.max())
    counts = []

    def counting(mask, dtype):
        attention = make_attention(mask, dtype)
        forward = attention.forward

        def counted(step, *arguments):
            if step + 1 == last:
                counts.append(live_numbers() - before)
            return forward(step, *arguments)

        attention.forward = counted
        return attention

    rest = problem.mask, problem.num_steps, problem.context_size
    fused_sketches(form, *inputs, counting, *rest)
    (count,) = counts
    return count


def live_numbers():
    gc.collect()
    tensors = [each for each in gc.get_objects() if type(each) is torch.Tensor]
    return sum({each.data_ptr(): each.numel() for each in tensors}.values())
