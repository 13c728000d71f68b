"""Learning rates, moving averages and initial weights."""

import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.nn import InitializerApplicator
from allennlp.training.moving_average import MovingAverage
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef import load
from allennlp_nef.errors import UserError
from allennlp_nef.training.schedules import InverseTime


def optimizer_of(*rates):
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": rate} for rate in rates]
    return torch.optim.SGD(groups, lr=0.1)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(0, 10), st.floats(1e-6, 10), st.integers(0, 30))
def test_rate_is_the_initial_rate_over_one_plus_rho_times_epochs(rho, first, epochs):
    optimizer = optimizer_of(first)
    scheduler = InverseTime(optimizer, rho)
    assert optimizer.param_groups[0]["lr"] == first
    for done in range(1, epochs + 1):
        scheduler.step(0.1)
        scheduler.step_batch(7)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(first / (1 + rho * done))


def test_parameter_groups_keep_their_own_rates():
    optimizer = optimizer_of(0.1, 0.2)
    InverseTime(optimizer, 1.0).step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.1]


def average_of(model, kind):
    params = Params({"type": kind, "decay": 0.9})
    return MovingAverage.from_params(params, parameters=list(model.named_parameters()))


def update(model, average, batches):
    """The averaged weight after some batches, in each of which the weight grows by the batch number."""
    for number in batches:
        with torch.no_grad():
            model.weight += number
        average.apply(number)
    average.assign_average_value()
    value = model.weight.clone()
    average.restore()
    return value


def test_recovered_averages_equal_those_of_a_training_without_interruption():
    model, stock = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    stock.load_state_dict(model.state_dict())
    expected = update(stock, average_of(stock, "exponential"), range(1, 9))
    first = average_of(model, "resumable_exponential")
    update(model, first, range(1, 5))
    recovered = torch.nn.Linear(2, 2)
    second = average_of(recovered, "resumable_exponential")
    recovered.load_state_dict(model.state_dict())
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    torch.testing.assert_close(update(recovered, second, range(5, 9)), expected)


def initial_weights_of(archive):
    options = {"type": "trained_model", "archive": archive}
    return InitializerApplicator.from_params(Params({"regexes": [["bias", options]]}))


def test_weights_are_those_of_the_named_model():
    model = load("qe-en-de")._model
    expected = model.tag_head.projection.bias.detach().clone()
    torch.nn.init.zeros_(model.tag_head.projection.bias)
    initial_weights_of("qe-en-de")(model)
    assert torch.equal(model.tag_head.projection.bias, expected)


def test_unknown_name_is_an_error():
    with pytest.raises(UserError, match="qe-multilingual"):
        initial_weights_of("qe-multilingal")
