"""The learning rate in a training by AllenNLP."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.training import Checkpointer, GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.training import InverseTime
from tests.models.tagging import small_tagger


class Rates(TrainerCallback):
    """The learning rate of each batch, by epoch."""

    def __init__(self, folder):
        super().__init__(folder)
        self.of_epoch = {}

    def on_batch(self, trainer, inputs, outputs, metrics, epoch, number, is_training, **kwargs):
        if is_training:
            self.of_epoch.setdefault(epoch, []).append(trainer.optimizer.param_groups[0]["lr"])


def optimizer_of(rate=0.4, parameters=None):
    parameters = parameters or [torch.nn.Parameter(torch.ones(2))]
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


def train(folder, num_epochs):
    """The model and the learning rates of a training, which is recovered where the folder has one."""
    model = small_tagger.make().train()
    optimizer = optimizer_of(parameters=list(model.parameters()))
    loader = SimpleDataLoader(small_tagger.instances(), 1, vocab=small_tagger.VOCAB)
    params = Params({"type": "inverse_time", "rate": 0.5})
    rates = Rates(str(folder))
    GradientDescentTrainer(
        model,
        optimizer,
        loader,
        validation_data_loader=loader,
        num_epochs=num_epochs,
        cuda_device=-1,
        checkpointer=Checkpointer(str(folder)),
        learning_rate_scheduler=LearningRateScheduler.from_params(params, optimizer=optimizer),
        callbacks=[rates],
        serialization_dir=str(folder),
    ).train()
    return model, rates.of_epoch


def test_rates_count_the_finished_epochs_also_after_a_recovery(tmp_path):
    expected = [pytest.approx([0.4 / (1 + 0.5 * epoch)] * 3) for epoch in range(4)]
    whole, rates = train(tmp_path / "whole", 4)
    assert [rates[epoch] for epoch in range(4)] == expected
    train(tmp_path / "parts", 2)
    parts, rates = train(tmp_path / "parts", 4)
    assert [rates[epoch] for epoch in (2, 3)] == expected[2:]
    for one, other in zip(whole.parameters(), parts.parameters()):
        torch.testing.assert_close(one, other)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(0, 10), st.floats(1e-6, 10), st.integers(0, 30))
def test_rate_is_the_initial_rate_over_one_plus_decay_times_epochs(rate, first, epochs):
    optimizer = optimizer_of(first)
    scheduler = InverseTime(optimizer, rate)
    assert optimizer.param_groups[0]["lr"] == first
    for done in range(1, epochs + 1):
        scheduler.step(0.1)
        scheduler.step_batch(7)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(first / (1 + rate * done))


def test_groups_keep_their_own_rates():
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": lr} for lr in (0.1, 0.2)]
    optimizer = torch.optim.SGD(groups, lr=0.3)
    InverseTime(optimizer, 1.0).step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.1]


@pytest.mark.parametrize("rate", [-0.1, math.inf, math.nan, None])
def test_rate_out_of_range_is_an_error(rate):
    with pytest.raises(ConfigurationError, match="rate: expected a number of at least 0, got"):
        InverseTime(optimizer_of(), rate)
