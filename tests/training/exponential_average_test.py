import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.moving_average import MovingAverage

import allennlp_nef  # noqa: F401  # registers the component


def make(model, kind="resumable_exponential", **options):
    params = Params({"type": kind, "decay": 0.9, **options})
    return MovingAverage.from_params(params, parameters=list(model.named_parameters()))


def update(model, average, batches):
    """Averages after some batches, in each of which a weight grows by its number."""
    for number in batches:
        with torch.no_grad():
            model.weight += number
        average.apply(number)
    average.assign_average_value()
    value = model.weight.clone()
    average.restore()
    return value


def test_recovered_averages_are_those_of_a_training_without_a_break():
    model, stock = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    stock.load_state_dict(model.state_dict())
    expected = update(stock, make(stock, "exponential"), range(1, 9))
    first = make(model)
    update(model, first, range(1, 5))
    recovered = torch.nn.Linear(2, 2)
    second = make(recovered)
    recovered.load_state_dict(model.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert torch.allclose(update(recovered, second, range(5, 9)), expected)


def test_wrong_decay_is_refused():
    with pytest.raises(ConfigurationError, match=r"decay: expected a number in \[0, 1\), got 1$"):
        make(torch.nn.Linear(2, 2), decay=1)
