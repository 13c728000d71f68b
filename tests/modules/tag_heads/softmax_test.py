import math

import pytest
import torch
from torch.autograd import gradcheck

from tests.modules.tag_heads.small_head import batch_of, make


@pytest.mark.parametrize("average, divisor", [("sentence", 2), ("token", 5)])
@pytest.mark.parametrize("weights", [{}, {"BAD": 5.0, "GAP": 0.5}])
def test_loss_is_a_weighted_cross_entropy(weights, average, divisor):
    head = make("softmax", label_weights=weights, average=average)
    states, mask, tags = batch_of([3, 2])
    scores = head.scores(states).tolist()
    total = 0.0
    for row, column in mask.nonzero().tolist():
        word, gold = scores[row][column], int(tags[row, column])
        log_z = math.log(sum(math.exp(score) for score in word))
        total += weights.get(("OK", "BAD", "GAP")[gold], 1.0) * (log_z - word[gold])
    assert len({int(tag) for tag in tags[mask]}) > 1
    loss = head.loss(head.scores(states), mask, tags)
    assert loss.item() == pytest.approx(total / divisor, rel=1e-6)


def test_tags_are_the_most_probable():
    head = make("softmax")
    scores = torch.tensor([[[1.0, 3.0, 2.0], [0.0, 0.0, math.log(2)]]])
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert head.decode(scores, mask).tolist() == [[1, 2]]
    probabilities = head.probabilities(scores, mask)
    torch.testing.assert_close(probabilities[0, 1], torch.tensor([0.25, 0.25, 0.5]))


def test_gradients_are_numerically_right():
    head = make("softmax", label_weights={"BAD": 5.0}).double()
    states, mask, tags = batch_of([3, 2])
    scores = head.scores(states.double()).detach().requires_grad_()
    assert gradcheck(lambda x: head.loss(x, mask, tags), (scores,))
