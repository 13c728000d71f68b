"""The recursion of the sketches against one that does a sentence after the other, as the paper writes it."""

import gc

import pytest
import torch

from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    Entmax15Transform,
    LeftToRightTransform,
    SoftmaxTransform,
)
from allennlp_nef.nn import sketching
from allennlp_nef.nn.sketching import SketchState, sketch, windows

PREATTENTION_DIM, SKETCH_DIM = 5, 4
FORMS = ["full", "single"]
TRANSFORMS = [
    ConstrainedSoftmaxTransform(),
    ConstrainedSoftmaxTransform(temperature=0.3, coverage_penalty=0.4, upper_bound=1.7),
    ConstrainedSparsemaxTransform(coverage_penalty=0.4, upper_bound=0.7),
    SoftmaxTransform(temperature=0.3, coverage_penalty=0.4),
    Entmax15Transform(),
    LeftToRightTransform(),
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
LONG_BATCH = [9, 2, 8, 0, 7, 9, 1]


class Problem:
    def __init__(self, form, lengths, max_steps=None, context_size=2, dtype=torch.float64, seed=0):
        generator = torch.Generator().manual_seed(seed)

        def randn(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

        self.form, self.context_size = form, context_size
        self.lengths = torch.tensor(lengths)
        batch, tokens = len(lengths), max(lengths) + 1  # a word of padding in every sentence
        rows = PREATTENTION_DIM + SKETCH_DIM
        self.mask = torch.arange(tokens) < self.lengths.unsqueeze(1)
        self.num_steps = self.lengths if max_steps is None else self.lengths.clamp(max=max_steps)
        self.inputs = [
            randn(batch, tokens, rows),
            randn(rows, (2 * context_size + 1) * SKETCH_DIM),
            randn(PREATTENTION_DIM),
        ]
        self.gradient = randn(batch, tokens, SKETCH_DIM)

    def run(self, transform, *inputs, **options):
        steps = self.mask, self.num_steps, self.context_size, self.mask.size(1)
        return sketch(self.form, *inputs, transform, *steps, **options)

    def sketches(self, transform, *inputs, **options):
        return self.run(transform, *inputs, **options).sketches

    def oracle(self, transform, preactivation, weight, vector):
        """The sketches s^N, and for each sentence those of its steps."""
        all_sketches, histories = [], []
        for p, length, steps in zip(preactivation, self.lengths.tolist(), self.num_steps.tolist()):
            sketches, beta = p.new_zeros(length, SKETCH_DIM), p.new_zeros(length)
            mask, history = torch.ones(1, length, dtype=torch.bool), []
            for step in range(steps):
                outside = p.new_zeros(self.context_size, SKETCH_DIM)
                padded = torch.cat([outside, sketches, outside])
                window = 2 * self.context_size + 1
                contexts = torch.stack([padded[i : i + window].flatten() for i in range(length)])
                a = p[:length] + contexts @ weight.t()
                z, update = a[:, :PREATTENTION_DIM].tanh() @ vector, a[:, PREATTENTION_DIM:]
                state = SketchState(step, beta[None], mask, self.lengths.new_tensor([length]))
                alpha = transform(z[None], state)[0]
                if self.form == "single":
                    update = alpha @ update
                sketches, beta = sketches + alpha[:, None] * update.tanh(), beta + alpha
                history.append(sketches)
            all_sketches.append(torch.cat([sketches, p.new_zeros(len(p) - length, SKETCH_DIM)]))
            histories.append(history)
        # A batch of empty sentences has gradients of zero.
        none = 0 * (preactivation.sum() + weight.sum() + vector.sum())
        return torch.stack(all_sketches) + none, histories

    def results(self, run, transform, dtype=None, **options):
        """The sketches and the gradients of all inputs."""
        inputs = [x.detach().to(dtype or x.dtype).requires_grad_() for x in self.inputs]
        sketches = run(transform, *inputs, **options)
        sketches.backward(self.gradient.to(sketches.dtype))
        return [sketches.detach(), *(x.grad for x in inputs)]

    def expected(self, transform, dtype=None):
        return self.results(lambda *inputs: self.oracle(*inputs)[0], transform, dtype)


@pytest.mark.parametrize("form", FORMS)
class TestAgainstTheOracle:
    @pytest.mark.parametrize("way", ["cached", "computed again", "traced"])
    @pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
    def test_sketches_and_gradients_are_equal(self, form, transform, way, monkeypatch):
        if way == "computed again":
            monkeypatch.setattr(sketching, "MAX_CACHE_BYTES", 1)
        for lengths, max_steps in BATCHES:
            problem = Problem(form, lengths, max_steps)
            found = problem.results(problem.sketches, transform, keep_trace=way == "traced")
            for ours, wanted in zip(found, problem.expected(transform)):
                torch.testing.assert_close(ours, wanted, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("transform", TRANSFORMS[:2], ids=repr)
    def test_a_trace_has_the_sketches_and_gradients_of_all_steps(self, form, transform):
        problem = Problem(form, *BATCHES[0])
        inputs = [x.requires_grad_() for x in problem.inputs]
        result = problem.run(transform, *inputs, keep_trace=True)
        _, histories = problem.oracle(transform, *inputs)
        ours = wanted = torch.zeros((), dtype=torch.float64)
        for row, (history, length) in enumerate(zip(histories, problem.lengths.tolist())):
            for step, sketches in enumerate(history):
                found = result.history[row, step, :length]
                torch.testing.assert_close(found, sketches)
                factor = problem.gradient[row, :length] * (step + 1)
                ours, wanted = ours + (found * factor).sum(), wanted + (sketches * factor).sum()
            assert (result.attention[row, len(history) :] == 0).all()
            assert (result.history[row, len(history) :] == result.sketches[row]).all()
        for one, other in zip(*(torch.autograd.grad(x, inputs) for x in (ours, wanted))):
            torch.testing.assert_close(one, other)

    @pytest.mark.parametrize("seed", range(3))
    def test_results_are_close_in_single_precision(self, form, seed):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(0, 40, (8,), generator=generator).tolist()
        problem = Problem(form, lengths, [None, 5, 9][seed], dtype=torch.float32, seed=seed)
        problem.inputs[1] *= 0.3
        ours, *gradients = problem.results(problem.sketches, TRANSFORMS[0])
        wanted, *wanted_gradients = problem.expected(TRANSFORMS[0], torch.float64)
        torch.testing.assert_close(ours.double(), wanted, rtol=0, atol=1e-5)
        for one, other in zip(gradients, wanted_gradients):
            scale = max(1.0, float(other.abs().max()))
            torch.testing.assert_close(one.double() / scale, other / scale, rtol=0, atol=1e-4)

    def test_results_are_close_in_bfloat16(self, form):
        problem = Problem(form, [9, 5, 1], 4, dtype=torch.bfloat16)
        low = problem.results(problem.sketches, TRANSFORMS[0])
        for ours, wanted in zip(low, problem.expected(TRANSFORMS[0], torch.float64)):
            assert ours.dtype == torch.bfloat16
            error = (ours.double() - wanted).abs().max() / wanted.abs().max().clamp(min=1)
            assert error < 0.06

    @pytest.mark.parametrize("context_size", [0, 1, 4])
    def test_results_are_equal_for_each_context_size(self, form, context_size):
        problem = Problem(form, [3, 6], None, context_size)
        found = problem.results(problem.sketches, TRANSFORMS[0])
        for ours, wanted in zip(found, problem.expected(TRANSFORMS[0])):
            torch.testing.assert_close(ours, wanted)

    def test_gradients_are_those_of_finite_differences(self, form):
        problem = Problem(form, [4, 2, 3])
        inputs = [x.requires_grad_() for x in problem.inputs]
        transform = SoftmaxTransform(coverage_penalty=0.5)
        assert torch.autograd.gradcheck(
            lambda *inputs: problem.sketches(transform, *inputs)[problem.mask], inputs
        )


@pytest.mark.parametrize("form", FORMS)
class TestSketch:
    def test_transforms_get_step_mask_lengths_coverage_and_rows(self, form):
        states = []

        def attend(scores, state):
            assert scores.dtype == state.coverage.dtype == torch.float32
            states.append(state)
            return state.mask / state.lengths.clamp(min=1).unsqueeze(-1).to(scores.dtype)

        problem = Problem(form, [4, 1, 2], dtype=torch.bfloat16)
        problem.run(attend, *problem.inputs)
        assert [state.step for state in states] == [0, 1, 2, 3]
        assert [state.lengths.tolist() for state in states] == [[4, 1, 2], [4, 2], [4], [4]]
        assert states[0].rows is None and states[1].rows.tolist() == [0, 2]
        for state in states:
            assert state.mask.sum(-1).equal(state.lengths)
            for coverage, length in zip(state.coverage, state.lengths.tolist()):
                expected = torch.full((length,), state.step / length)
                torch.testing.assert_close(coverage[:length], expected)

    def test_gradients_in_padding_have_no_effect(self, form):
        problem = Problem(form, [4, 2])
        expected = problem.results(problem.sketches, TRANSFORMS[0])
        problem.gradient[1, 2:] = float("nan")
        for ours, before in zip(problem.results(problem.sketches, TRANSFORMS[0]), expected):
            assert torch.equal(ours, before)

    def test_second_derivatives_are_an_error(self, form):
        problem = Problem(form, [4], dtype=torch.float32)
        inputs = [x.requires_grad_() for x in problem.inputs]
        sketches = problem.sketches(TRANSFORMS[0], *inputs)
        with pytest.raises(RuntimeError, match="is differentiable once"):
            torch.autograd.grad(sketches.sum(), inputs, create_graph=True)

    def test_memory_grows_with_the_root_of_the_steps(self, form, monkeypatch):
        monkeypatch.setattr(sketching, "MAX_CACHE_BYTES", 1)
        numbers = []
        gc.collect()
        for length in (16, 64):
            problem = Problem(form, [length], length, dtype=torch.float32)
            inputs = [x.requires_grad_() for x in problem.inputs]
            before = live_numbers()
            sketches = problem.sketches(TRANSFORMS[0], *inputs)
            numbers.append((live_numbers() - before) / length)
            del sketches
        assert numbers[1] < 2.6 * numbers[0]


def live_numbers():
    tensors = [x for x in gc.get_objects() if type(x) is torch.Tensor]
    return sum({x.data_ptr(): x.numel() for x in tensors}.values())


class Halts:
    """Halts sentences by what their sketches are, and by a number of steps each."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        self.limits = torch.randint(1, 6, (count,), generator=generator)
        self.steps = 0

    def __call__(self, sketches, rows):
        self.steps += 1
        limits = self.limits if rows is None else self.limits[rows]
        assert len(sketches) == len(limits) and sketches.isfinite().all()
        return (self.steps >= limits) | (sketches.sum((1, 2)).abs() > 2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("keep_trace", [False, True])
@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_a_halted_sentence_has_the_sketches_of_its_last_step(form, keep_trace, transform):
    for lengths, max_steps in (*BATCHES, (LONG_BATCH, None)):
        problem = Problem(form, lengths, max_steps)
        halts = Halts(len(lengths))
        result = problem.run(transform, *problem.inputs, keep_trace=keep_trace, halts=halts)
        _, histories = problem.oracle(transform, *problem.inputs)
        limits = Halts(len(lengths)).limits.tolist()
        for row, (history, limit) in enumerate(zip(histories, limits)):
            sums = [float(sketches.sum()) for sketches in history]
            ends = (n for n, total in enumerate(sums, 1) if n >= limit or abs(total) > 2)
            expected = next(ends, len(history))
            assert result.num_steps[row] == expected
            found = result.sketches[row, : lengths[row]]
            wanted = history[expected - 1] if expected else found * 0
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    assert len(set(result.num_steps.tolist())) > 2


def test_windows_go_from_left_to_right():
    states = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
    assert windows(states, 1).tolist() == [
        [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
    ]
    assert windows(torch.ones(1, 1, 1), 3).tolist() == [[[0, 0, 0, 1, 0, 0, 0]]]
