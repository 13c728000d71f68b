import pytest
import torch

from allennlp_nef.nn.sketching import sketch_full, sketch_single, windows

RECURSIONS = [sketch_full, sketch_single]
PREATTENTION_DIM, SKETCH_DIM, CONTEXT_SIZE = 3, 2, 1


def arguments(lengths, dtype=torch.float32, seed=0):
    """The pre-activation, W_s, v and the mask of a recursion."""
    generator = torch.Generator().manual_seed(seed)
    rows, tokens = PREATTENTION_DIM + SKETCH_DIM, max(lengths)

    def randn(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    mask = torch.arange(tokens) < torch.tensor(lengths).unsqueeze(1)
    return (
        randn(len(lengths), tokens, rows),
        randn(rows, (2 * CONTEXT_SIZE + 1) * SKETCH_DIM),
        randn(PREATTENTION_DIM),
        mask,
    )


def run(recursion, lengths, num_steps, attend, keep_trace=True, **options):
    preactivation, weight, vector, mask = arguments(lengths, **options)
    steps = torch.tensor(num_steps)
    return recursion(preactivation, weight, vector, attend, mask, steps, CONTEXT_SIZE, keep_trace)


def uniform(scores, state):
    return state.mask / state.lengths.clamp(min=1).unsqueeze(-1).to(scores.dtype)


class TestWindows:
    def test_windows_go_from_left_to_right(self):
        states = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]])
        assert windows(states, 1).tolist() == [
            [[0, 0, 1, 10, 2, 20], [1, 10, 2, 20, 3, 30], [2, 20, 3, 30, 0, 0]]
        ]

    def test_windows_can_be_wider_than_the_sentence(self):
        assert windows(torch.ones(1, 1, 1), 3).tolist() == [[[0, 0, 0, 1, 0, 0, 0]]]

    def test_windows_without_context_are_the_states(self):
        states = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
        assert torch.equal(windows(states, 0), states)


@pytest.mark.parametrize("recursion", RECURSIONS)
class TestRecursion:
    def test_transforms_get_step_mask_lengths_and_coverage(self, recursion):
        states = []

        def attend(scores, state):
            assert scores.shape == (3, 4)
            states.append(state)
            return uniform(scores, state)

        run(recursion, [4, 2, 1], [3, 2, 1], attend)
        assert [state.step for state in states] == [0, 1, 2]
        for state in states:
            assert state.lengths.tolist() == [4, 2, 1]
            assert state.mask.sum(-1).tolist() == [4, 2, 1]
            # beta: 1 / L a step, for as many steps as the sentence has had.
            expected = [
                [min(state.step, steps) / length * (i < length) for i in range(4)]
                for length, steps in ((4, 3), (2, 2), (1, 1))
            ]
            torch.testing.assert_close(state.coverage, torch.tensor(expected))

    def test_a_finished_sentence_changes_no_more(self, recursion):
        result = run(recursion, [4, 4], [4, 2], uniform)
        history = result.trace.sketches[1]
        assert not torch.equal(history[0], history[1])
        assert torch.equal(history[1], history[2])
        assert torch.equal(history[1], history[3])
        assert (result.trace.attention[1, 2:] == 0).all()
        assert (result.trace.attention[1, :2] == 0.25).all()
        assert not torch.equal(result.trace.sketches[0, 2], result.trace.sketches[0, 3])
        torch.testing.assert_close(result.sketches, result.trace.sketches[:, -1])

    def test_the_first_sketches_are_alpha_times_tanh_of_the_preactivation(self, recursion):
        preactivation, *_ = arguments([4])
        result = run(recursion, [4], [1], uniform)
        update = preactivation[..., PREATTENTION_DIM:]
        if recursion is sketch_single:
            update = update.mean(1, keepdim=True).expand_as(update)
        torch.testing.assert_close(result.sketches, update.tanh() / 4)

    def test_scores_are_those_of_equation_2(self, recursion):
        preactivation, _, vector, _ = arguments([4])
        seen = []

        def attend(scores, state):
            seen.append(scores)
            return uniform(scores, state)

        run(recursion, [4], [1], attend)
        torch.testing.assert_close(seen[0], preactivation[..., :PREATTENTION_DIM].tanh() @ vector)

    def test_the_trace_does_not_change_the_sketches(self, recursion):
        with_trace = run(recursion, [4, 2], [3, 2], uniform)
        without = run(recursion, [4, 2], [3, 2], uniform, keep_trace=False)
        assert without.trace is None
        assert torch.equal(without.sketches, with_trace.sketches)
        assert with_trace.trace.attention.shape == (2, 3, 4)
        assert with_trace.trace.sketches.shape == (2, 3, 4, SKETCH_DIM)
        assert with_trace.trace.num_steps.tolist() == [3, 2]

    def test_empty_sentences_have_sketches_of_zero(self, recursion):
        preactivation, weight, vector, _ = arguments([2, 2])
        mask, steps = torch.zeros(2, 2, dtype=torch.bool), torch.zeros(2, dtype=torch.long)
        result = recursion(preactivation, weight, vector, uniform, mask, steps, CONTEXT_SIZE, True)
        assert (result.sketches == 0).all()
        assert (result.trace.attention == 0).all()

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
    def test_coverage_has_float32_at_least(self, recursion, dtype):
        seen = []

        def attend(scores, state):
            seen.append((scores.dtype, state.coverage.dtype))
            return uniform(scores, state)

        result = run(recursion, [4, 2], [3, 2], attend, dtype=dtype)
        expected = torch.promote_types(dtype, torch.float32)
        assert set(seen) == {(expected, expected)}
        assert result.sketches.dtype == dtype
