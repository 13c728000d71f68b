"""The recursion of the sketches. `neural_easy_first_test.py` compares it with Algorithm 2 in loops."""

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


def run(inputs, mask, single, transform, max_steps=99, active=None, **options):
    """The attention and the sketches of all steps: (batch, steps, ...) each."""
    active = active or [len(mask)] * min(max_steps, int(mask.sum(-1).max()))
    steps = sketch(*inputs, transform, mask, active, CONTEXT_SIZE, single, **options)
    return [torch.stack(each, 1) for each in zip(*steps)]


@both_forms
@pytest.mark.parametrize(
    "transform", [SoftmaxTransform(0.7, 0.5), ConstrainedSoftmaxTransform()], ids=repr
)
@pytest.mark.parametrize("lengths, max_steps", [([6, 4, 7, 4], 99), ([2, 5, 1], 3), ([3], 1)])
def test_gradients_are_those_of_finite_differences(single, transform, lengths, max_steps):
    """In the first batch, all sentences do some steps and then end one after the other."""
    inputs, mask = problem(lengths)

    def results(*inputs):
        return run(inputs, mask, single, transform, max_steps)

    assert gradcheck(results, inputs, fast_mode=True)


@both_forms
def test_steps_do_not_depend_on_their_number_or_on_finished_sentences(single):
    lengths = [7, 6, 4, 1, 0]
    inputs, mask = problem(lengths)
    transform = ConstrainedSoftmaxTransform()
    attention, sketches = run(inputs, mask, single, transform)
    assert sketches.shape == (5, 7, 8, SKETCH_DIM)
    for steps in range(1, 8):
        _, expected = run(inputs, mask, single, transform, steps)
        torch.testing.assert_close(sketches[:, :steps], expected)
    for weights, length in zip(attention, lengths):
        assert (weights[length:] == 0).all()
    active = [sum(length > step for length in lengths) for step in range(7)]
    without_finished = run(inputs, mask, single, transform, active=active)
    torch.testing.assert_close(without_finished, [attention, sketches])


@both_forms
def test_bfloat16_has_the_error_of_rounding(single):
    transform = ConstrainedSoftmaxTransform()
    results = []
    for dtype in (torch.bfloat16, torch.float64):
        inputs, mask = problem([9, 5, 1], torch.bfloat16)
        inputs = [x.detach().to(dtype).requires_grad_() for x in inputs]
        sketches = run(inputs, mask, single, transform, 4)[1][:, -1]
        sketches.square().sum().backward()
        results.append([sketches, *(x.grad for x in inputs)])
    for low, exact in zip(*results):
        assert low.dtype == torch.bfloat16
        assert (low.double() - exact).abs().max() < 0.06 * exact.abs().max().clamp(min=1)


@both_forms
def test_tag_scores_are_those_of_the_updates_of_each_sentence(single):
    inputs, mask = problem([1, 4, 2])

    def score_updates(updates):
        return updates.detach().tanh().sum(-1)

    class ByTagScore(ConstrainedSoftmaxTransform):
        def adjusted_scores(self, scores, state):
            tag_scores = state.tag_scores()
            if state.step == 0:  # s^0 = 0
                updates = inputs[0][..., PREATTENTION_DIM:].tanh()
                torch.testing.assert_close(tag_scores, updates.sum(-1))
            return super().adjusted_scores(scores, state) + tag_scores

    _, sketches = run(inputs, mask, single, ByTagScore(), score_updates=score_updates)
    sketches[:, -1].sum().backward()
    assert all(x.grad.isfinite().all() for x in inputs)


def test_windows_go_from_left_to_right():
    states = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
    assert windows(states, 1).tolist() == [
        [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
    ]
    assert windows(torch.ones(1, 1, 1), 3).tolist() == [[[0, 0, 0, 1, 0, 0, 0]]]
