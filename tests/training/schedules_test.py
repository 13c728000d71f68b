"""Learning rates and initial weights."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.nn import InitializerApplicator
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


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf, True])
def test_a_bad_rate_is_an_error(rate):
    with pytest.raises(ConfigurationError, match="rate"):
        InverseTime(optimizer_of(0.1), rate)


def initial_weights_of(archive):
    options = {"type": "trained_model", "archive": archive}
    return InitializerApplicator.from_params(Params({"regexes": [["tag_head", options]]}))


def test_weights_are_those_of_the_named_model():
    model = load("ner-multilingual")._model
    expected = model.tag_head.projection.bias.detach().clone()
    torch.nn.init.zeros_(model.tag_head.projection.bias)
    initial_weights_of("ner-multilingual")(model)
    assert torch.equal(model.tag_head.projection.bias, expected)


def test_unknown_name_is_an_error():
    with pytest.raises(UserError, match="qe-multilingual"):
        initial_weights_of("qe-multilingal")
