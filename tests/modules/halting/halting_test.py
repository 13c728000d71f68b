import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.halting import BatchHalting, Halting

# The probabilities of the label 1 after each step, for two words.
STEPS = [(0.1, 0.6), (0.1, 0.4), (0.2, 0.4), (0.2, 0.1), (0.2, 0.05), (0.9, 0.05)]


def halting_of(**options):
    return Halting.from_params(Params(options))


def last_steps(batch, count=1):
    """For each sentence the step, from 1, after which it halts first; None for never."""
    found = [None] * count
    for step, words in enumerate(STEPS, 1):
        scores = torch.tensor([[[1 - p, p] for p in (*words, 0.5)]] * count).log()
        for row, halts in enumerate(batch.after(scores).tolist()):
            found[row] = found[row] or (step if halts else None)
    return found


def batch_of(*haltings, max_steps=None):
    mask = torch.tensor([[True, True, False]] * len(haltings))
    return BatchHalting(haltings, max_steps or [None] * len(haltings), mask)


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"type": "confident", "threshold": 0.79}, 4),
        ({"type": "confident", "threshold": 0.92}, None),
        ({"type": "settled"}, 3),
        ({"type": "settled", "steps": 3}, 5),
        ({"type": "settled", "steps": 4}, None),
        ({"type": "settled", "threshold": 0.79}, 4),
    ],
)
def test_a_sentence_halts_at_the_expected_step(options, expected):
    assert last_steps(batch_of(halting_of(**options))) == [expected]


def test_haltings_of_a_batch_do_not_mix():
    haltings = [halting_of(type="settled"), None, halting_of(type="confident", threshold=0.79)]
    batch = batch_of(*haltings, max_steps=[None, 4, 2])
    assert batch.looks_at_tags and batch.is_limited == [True, True, True]
    assert batch.limit(torch.tensor([9, 9, 9])).tolist() == [9, 4, 2]
    assert last_steps(batch, 3) == [3, None, 4]
    fixed = batch_of(halting_of(type="fixed", max_steps=3), None, max_steps=[None, None])
    assert not fixed.looks_at_tags and fixed.is_limited == [True, False]
    assert fixed.limit(torch.tensor([2, 9])).tolist() == [2, 9]
    replaced = batch_of(halting_of(type="fixed", max_steps=3), max_steps=[5])
    assert replaced.limit(torch.tensor([9])).tolist() == [5]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"type": "fixed", "max_steps": 0}, "max_steps: expected an integer of at least 1, got 0"),
        (
            {"type": "confident", "threshold": 1.5},
            "threshold: expected a number from 0 to 1, got 1.5",
        ),
        ({"type": "settled", "steps": 0}, "steps: expected an integer of at least 1, got 0"),
        ({"type": "confident"}, "threshold"),
    ],
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(ConfigurationError) as error:
        halting_of(**options)
    assert message in str(error.value)
