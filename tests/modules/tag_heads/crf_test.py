import math

import pytest
import torch
from torch.autograd import gradcheck

from tests import oracles
from tests.modules.tag_heads.small_head import batch_of, make

LENGTHS = [5, 1, 3]


def example(seed=0, dtype=torch.float32, **options):
    """A head with strong transitions, its scores, mask and gold tags."""
    head = make("crf", seed, **options).to(dtype)
    with torch.no_grad():
        for parameter in head.chain.parameters():
            parameter.normal_(std=2)
    states, mask, tags = batch_of(LENGTHS, seed=seed)
    return head, head.scores(states.to(dtype)).detach(), mask, tags


def paths_of(head, scores):
    chain = head.chain
    parameters = chain.transitions, chain.start_transitions, chain.end_transitions
    return oracles.path_scores(scores.numpy(), *(p.detach().numpy() for p in parameters))


@pytest.mark.parametrize("seed", range(2))
class TestAgainstAllPaths:
    def test_loss_is_the_likelihood_over_all_taggings(self, seed):
        head, scores, mask, tags = example(seed)
        expected = 0.0
        for row, length in enumerate(LENGTHS):
            paths = paths_of(head, scores[row, :length])
            gold = tuple(tags[row, :length].tolist())
            expected += oracles.log_sum_exp(paths.values()) - paths[gold]
        assert head.loss(scores, mask, tags).item() == pytest.approx(expected / 3)

    def test_label_weights_add_to_the_partition_function(self, seed):
        """log(weight of the gold label) is added to every other label of the word."""
        weights = {"OK": 0.5, "BAD": 5.0}
        head, scores, mask, tags = example(seed, label_weights=weights)
        expected = 0.0
        for row, length in enumerate(LENGTHS):
            gold = tuple(tags[row, :length].tolist())
            costs = [math.log(weights.get(("OK", "BAD", "GAP")[tag], 1.0)) for tag in gold]
            paths = paths_of(head, scores[row, :length])
            augmented = [
                score + sum(cost for cost, a, b in zip(costs, path, gold) if a != b)
                for path, score in paths.items()
            ]
            expected += oracles.log_sum_exp(augmented) - paths[gold]
        assert head.loss(scores, mask, tags).item() == pytest.approx(expected / 3)


def test_gradients_are_numerically_right():
    head, scores, mask, tags = example(dtype=torch.float64, label_weights={"BAD": 5.0})
    scores.requires_grad_()
    assert gradcheck(lambda x, *_: head.loss(x, mask, tags), (scores, *head.chain.parameters()))


def test_a_word_after_padding_is_an_error():
    head, scores, mask, tags = example()
    mask[2, 1] = False
    for function in (head.decode, head.probabilities, lambda *_: head.loss(scores, mask, tags)):
        with pytest.raises(ValueError, match="got a word after padding in row 2"):
            function(scores, mask)
