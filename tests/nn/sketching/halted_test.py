"""Sentences that leave the batch, against the sketches of all steps."""

import pytest
import torch

from allennlp_nef.nn.sketching import halt_in_history, halted_sketches
from tests.nn.sketching.fused_test import BATCHES, REFERENCE, TRANSFORMS, Problem, name_of


class Halts:
    """Halts sentences by what their sketches are, and by a number of steps each."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        self.limits = torch.randint(1, 6, (count,), generator=generator)
        self.steps = 0

    def after(self, sketches):
        self.steps += 1
        assert len(sketches) == len(self.limits) and sketches.isfinite().all()
        return (self.steps >= self.limits) | (sketches.sum((1, 2)).abs() > 2)

    def keep(self, rows):
        self.limits = self.limits[rows]


@pytest.mark.parametrize("form", REFERENCE)
def test_sketches_are_close_in_single_precision(form):
    problem = Problem([9, 2, 8, 0, 7, 9, 1], None, dtype=torch.float32)
    rest = problem.mask, problem.num_steps, problem.context_size
    results = []
    for dtype in (torch.float32, torch.float64):
        inputs = (tensor.to(dtype) for tensor in problem.inputs)
        results.append(halted_sketches(form, *inputs, TRANSFORMS[0].stepwise(), *rest, Halts(7)))
    (ours, our_steps), (expected, steps) = results
    assert torch.equal(our_steps, steps)
    torch.testing.assert_close(ours, expected.float(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", REFERENCE)
@pytest.mark.parametrize("transform", TRANSFORMS, ids=name_of)
@pytest.mark.parametrize("lengths, max_steps", [*BATCHES, ([9, 2, 8, 0, 7, 9, 1], None)])
def test_a_sentence_has_the_sketches_of_its_last_step(form, transform, lengths, max_steps):
    problem = Problem(lengths, max_steps)
    rest = problem.mask, problem.num_steps, problem.context_size
    trace = REFERENCE[form](*problem.inputs, transform, *rest, keep_trace=True).trace
    expected, expected_steps = halt_in_history(
        trace.sketches, problem.num_steps, Halts(len(lengths))
    )
    sketches, steps = halted_sketches(
        form, *problem.inputs, transform.stepwise(), *rest, Halts(len(lengths))
    )
    assert torch.equal(steps, expected_steps)
    torch.testing.assert_close(sketches, expected, rtol=1e-9, atol=1e-9)
    for row, count in enumerate(steps.tolist()):
        if count:
            torch.testing.assert_close(sketches[row], trace.sketches[row, count - 1])
    assert len(lengths) < 7 or len(set(steps.tolist())) > 3
