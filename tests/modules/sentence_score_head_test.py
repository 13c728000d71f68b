import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.sentence_score_head import SentenceScoreHead

MASK = torch.tensor([[True, True, True], [True, False, False]])
BAD = torch.tensor([[0.2, 0.4, 0.9], [0.3, math.nan, math.nan]])
STATES = (
    torch.arange(12, dtype=torch.float).view(2, 3, 2).masked_fill(~MASK.unsqueeze(-1), math.nan)
)


def test_score_is_the_expected_share_at_first():
    logits = SentenceScoreHead(2).eval()(STATES, MASK, BAD)
    torch.testing.assert_close(logits.sigmoid(), torch.tensor([0.5, 0.3]))


def test_score_has_the_formula_of_the_docstring():
    torch.manual_seed(0)
    head = SentenceScoreHead(2).eval()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    (weight,), bias = head.projection.weight.tolist(), head.projection.bias.item()
    h, p = [2.0, 3.0], 0.5
    expected = (
        head.scale.item() * math.log(p / (1 - p)) + weight[0] * h[0] + weight[1] * h[1] + bias
    )
    assert head(STATES, MASK, BAD)[0].item() == pytest.approx(expected)


def test_certain_and_empty_sentences_have_finite_scores_and_gradients():
    head = SentenceScoreHead(2)
    bad = torch.tensor([[0.0] * 3, [1.0] * 3, [math.nan] * 3], requires_grad=True)
    mask = torch.tensor([[True] * 3, [True] * 3, [False] * 3])
    logits = head(torch.ones(3, 3, 2), mask, bad)
    head.loss(logits, torch.tensor([0.0, 2.0, 1.0]), mask.any(-1)).backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in head.parameters())
    assert bad.grad.isfinite().all()


def test_loss_is_the_lowest_at_the_gold_score():
    head = SentenceScoreHead(2)
    logits = torch.linspace(-4, 4, 8001)
    for gold, best in ((0.3, 0.3), (0.9, 0.9), (1.7, None)):
        losses = torch.stack(
            [head.loss(x.view(1), torch.tensor([gold]), torch.tensor([True])) for x in logits[::40]]
        )
        found = logits[::40][losses.argmin()].sigmoid().item()
        assert found == pytest.approx(best or logits[-1].sigmoid().item(), abs=0.05)


def test_loss_is_weighted():
    logits, gold = torch.tensor([0.5, -1.0]), torch.tensor([0.1, 0.8])
    both = torch.tensor([True, True])
    one, two = (SentenceScoreHead(2, loss_weight=x).loss(logits, gold, both) for x in (1.0, 2.0))
    assert two.item() == pytest.approx(2 * one.item())
    first = SentenceScoreHead(2, loss_weight=1).loss(logits[:1], gold[:1], both[:1])
    weighted = SentenceScoreHead(2, loss_weight=1).loss(
        logits, gold, both, torch.tensor([3.0, 0.0])
    )
    assert weighted.item() == pytest.approx(1.5 * first.item())


@pytest.mark.parametrize("loss_weight", [0, -1, math.inf, math.nan])
def test_loss_weight_is_above_0(loss_weight):
    with pytest.raises(
        ConfigurationError, match="sentence_score: loss_weight: expected a number ab"
    ):
        SentenceScoreHead(2, loss_weight=loss_weight)
