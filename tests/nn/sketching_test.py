"""The recursion of the sketches. `neural_easy_first_test.py` compares it with Algorithm 2 in loops."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from allennlp_nef.modules.attention_transforms import ConstrainedSoftmaxTransform, SoftmaxTransform
from allennlp_nef.nn.sketching import sketch, windows

PREATTENTION_DIM, SKETCH_DIM, CONTEXT_SIZE = 5, 4, 1
both_forms = pytest.mark.parametrize("single", [False, True], ids=["full", "single"])


def problem(lengths, dtype=torch.float64, tokens=None):
    """p, W_s and v, which need gradients, and the mask."""
    generator = torch.Generator().manual_seed(0)
    tokens = tokens or max(lengths) + 1  # a word of padding in every sentence
    rows = PREATTENTION_DIM + SKETCH_DIM
    window = (2 * CONTEXT_SIZE + 1) * SKETCH_DIM
    shapes = (len(lengths), tokens, rows), (rows, window), (PREATTENTION_DIM,)
    tensors = [torch.randn(*s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]
    mask = torch.arange(tokens) < torch.tensor(lengths).unsqueeze(1)
    return [tensor.requires_grad_() for tensor in tensors], mask


def run(inputs, mask, single, transform, max_steps=99, **options):
    num_steps = min(max_steps, int(mask.sum(-1).max()))
    return sketch(*inputs, transform, mask, num_steps, CONTEXT_SIZE, single, **options)


@both_forms
@pytest.mark.parametrize(
    "transform", [SoftmaxTransform(0.7, 0.5), ConstrainedSoftmaxTransform()], ids=repr
)
@pytest.mark.parametrize("lengths, max_steps", [([6, 4, 7, 4], 99), ([2, 5, 1], 3), ([3], 1)])
def test_gradients_are_those_of_finite_differences(single, transform, lengths, max_steps):
    """In the first batch, all sentences do some steps and then end one after the other."""
    inputs, mask = problem(lengths)

    def results(*inputs):
        found = run(inputs, mask, single, transform, max_steps, trace=True)
        return found.sketches, found.attention, found.history

    assert gradcheck(results, inputs, fast_mode=True)


@both_forms
def test_a_trace_has_the_sketches_of_all_steps(single):
    lengths = [7, 1, 4, 0, 6]
    inputs, mask = problem(lengths)
    transform = ConstrainedSoftmaxTransform()
    found = run(inputs, mask, single, transform, trace=True)
    torch.testing.assert_close(found.sketches, run(inputs, mask, single, transform).sketches)
    assert found.history.shape == (5, 7, 8, SKETCH_DIM)
    for steps in range(1, 8):
        expected = run(inputs, mask, single, transform, steps).sketches
        torch.testing.assert_close(found.history[:, steps - 1], expected)
    for attention, length in zip(found.attention, lengths):
        assert (attention[length:] == 0).all()


@both_forms
def test_bfloat16_has_the_error_of_rounding(single):
    transform = ConstrainedSoftmaxTransform()
    results = []
    for dtype in (torch.bfloat16, torch.float64):
        inputs, mask = problem([9, 5, 1], torch.bfloat16)
        inputs = [x.detach().to(dtype).requires_grad_() for x in inputs]
        sketches = run(inputs, mask, single, transform, 4).sketches
        sketches.square().sum().backward()
        results.append([sketches, *(x.grad for x in inputs)])
    for low, exact in zip(*results):
        assert low.dtype == torch.bfloat16
        assert (low.double() - exact).abs().max() < 0.06 * exact.abs().max().clamp(min=1)


@both_forms
def test_tag_scores_are_those_of_the_updates_of_each_sentence(single):
    """They come without gradient."""
    inputs, mask = problem([1, 4, 2])

    def score_updates(updates):
        assert not updates.requires_grad
        return updates.sum(-1)

    class ByTagScore(ConstrainedSoftmaxTransform):
        def adjusted_scores(self, scores, state):
            tag_scores = state.tag_scores()
            if state.step == 0:  # s^0 = 0
                updates = inputs[0][..., PREATTENTION_DIM:].tanh()
                torch.testing.assert_close(tag_scores, updates.sum(-1))
            return super().adjusted_scores(scores, state) + tag_scores

    found = run(inputs, mask, single, ByTagScore(), score_updates=score_updates)
    found.sketches.sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


@both_forms
def test_gradients_in_padding_have_no_effect(single):
    gradient = torch.randn(2, 5, SKETCH_DIM, dtype=torch.float64)
    gradients = []
    for junk in (0.0, math.nan):
        inputs, mask = problem([4, 2])
        sketches = run(inputs, mask, single, ConstrainedSoftmaxTransform()).sketches
        sketches.backward(gradient.masked_fill(~mask.unsqueeze(-1), junk))
        gradients.append([x.grad for x in inputs])
    for one, other in zip(*gradients):
        assert torch.equal(one, other)


def test_windows_go_from_left_to_right():
    states = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
    assert windows(states, 1).tolist() == [
        [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
    ]
    assert windows(torch.ones(1, 1, 1), 3).tolist() == [[[0, 0, 0, 1, 0, 0, 0]]]
