import pytest
import torch

from allennlp_nef.nn.sketching.stepwise_attention import (
    ConstrainedSoftmaxSteps,
    ConstrainedSparsemaxSteps,
    RecordedAttention,
    SoftmaxSteps,
)

KINDS = [SoftmaxSteps, ConstrainedSoftmaxSteps, ConstrainedSparsemaxSteps]
LENGTHS = [4, 1]
MASK = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)


def steps_of(kind, mask=MASK):
    return kind(mask, torch.float64, 1.0, 0.0)


class TestOpenWords:
    @pytest.mark.parametrize("kind", KINDS)
    def test_padding_is_not_open(self, kind):
        steps = steps_of(kind)
        assert steps.open_words(2).tolist() == [0, 1, 2, 3, 4]
        assert steps.open_words(1) is None
        assert steps_of(kind, torch.ones(2, 4, dtype=torch.bool)).open_words(2) is None

    def test_all_words_are_open_where_few_are_not(self):
        mask = torch.ones(5, 4, dtype=torch.bool)
        mask[4, 3] = False
        assert steps_of(SoftmaxSteps, mask).open_words(5) is None
        mask[4, 2] = False
        assert steps_of(SoftmaxSteps, mask).open_words(5) is None
        mask[4, 1] = False
        assert steps_of(SoftmaxSteps, mask).open_words(5).tolist() == list(range(17))

    def test_saturated_words_are_closed_where_there_are_bounds(self):
        scores = torch.tensor([[50.0, 0, 0, 0]], dtype=torch.float64)
        for kind, expected in zip(KINDS, (None, [1, 2, 3], [1, 2, 3])):
            steps = steps_of(kind, MASK[:1])
            for step in range(2):
                steps.forward(step, scores, use_cache=False)
            words = steps.open_words(1)
            assert (words if words is None else words.tolist()) == expected

    def test_recorded_attention_leaves_all_words_open(self):
        steps = RecordedAttention(lambda scores, state: scores.softmax(-1), MASK, torch.float64)
        assert steps.open_words(2) is None


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_that_end_do_not_change_the_others(kind):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    steps, alone = steps_of(kind), steps_of(kind, MASK[:1])
    for step, size in enumerate([2, 1, 1]):
        alpha = steps.forward(step, scores[:size], use_cache=True)
        assert torch.equal(alpha[:1], alone.forward(step, scores[:1], use_cache=True))
        assert (alpha.masked_select(~MASK[:size]) == 0).all()
        torch.testing.assert_close(alpha.sum(-1), torch.ones(size, dtype=torch.float64))
    for step, size in [(2, 1), (1, 1), (0, 2)]:
        grad = torch.randn(size, 4, generator=generator, dtype=torch.float64)
        grad_scores = steps.backward(step, grad)
        torch.testing.assert_close(grad_scores[:1], alone.backward(step, grad[:1]))


@pytest.mark.parametrize("kind", KINDS)
def test_restored_attention_repeats_its_steps(kind):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 2, 4, generator=generator, dtype=torch.float64)
    steps = kind(MASK, torch.float64, 0.5, 0.7)
    steps.forward(0, scores[0], use_cache=False)
    state = steps.state()
    first = [steps.forward(step, scores[step, :1], use_cache=False) for step in (1, 2)]
    steps.restore(state)
    second = [steps.forward(step, scores[step, :1], use_cache=False) for step in (1, 2)]
    assert torch.equal(torch.stack(first), torch.stack(second))
