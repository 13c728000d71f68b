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


def optimizer_of(rate=0.4, model=None):
    parameters = [torch.nn.Parameter(torch.ones(2))] if model is None else model.parameters()
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9)


def trainer_of(folder, num_epochs, rate=0.5):
    model = small_tagger.make().train()
    optimizer = optimizer_of(model=model)
    loader = SimpleDataLoader(small_tagger.instances(), 1, vocab=small_tagger.VOCAB)
    params = Params({"type": "inverse_time", "rate": rate})
    rates = Rates(str(folder))
    trainer = GradientDescentTrainer(
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
    )
    return trainer, rates


def expected(epochs, rate=0.5):
    return {epoch: pytest.approx([0.4 / (1 + rate * epoch)] * 3) for epoch in epochs}


def test_rate_of_each_epoch_counts_the_epochs_before_it(tmp_path):
    """Epochs count from 0: as many as are done."""
    trainer, rates = trainer_of(tmp_path, 4)
    trainer.train()
    assert rates.of_epoch == expected(range(4))


def test_recovered_training_goes_on_with_its_rate(tmp_path):
    trainer_of(tmp_path, 2)[0].train()
    trainer, rates = trainer_of(tmp_path, 5)
    trainer.train()
    assert {epoch: rates.of_epoch[epoch] for epoch in (2, 3, 4)} == expected([2, 3, 4])


def test_recovered_parameters_are_those_of_one_training(tmp_path):
    whole, _ = trainer_of(tmp_path / "whole", 4)
    whole.train()
    trainer_of(tmp_path / "parts", 2)[0].train()
    parts, _ = trainer_of(tmp_path / "parts", 4)
    parts.train()
    for one, other in zip(whole.model.parameters(), parts.model.parameters()):
        torch.testing.assert_close(one, other)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.floats(0, 10), st.floats(1e-6, 10), st.integers(0, 30))
def test_rate_is_the_initial_rate_over_one_plus_decay_times_epochs(rate, first, epochs):
    optimizer = optimizer_of(first)
    scheduler = InverseTime(optimizer, rate)
    assert optimizer.param_groups[0]["lr"] == first
    for done in range(1, epochs + 1):
        scheduler.step(0.1)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(first / (1 + rate * done))


def test_groups_keep_their_own_rates():
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": lr} for lr in (0.1, 0.2)]
    optimizer = torch.optim.SGD(groups, lr=0.3)
    scheduler = InverseTime(optimizer, 1.0)
    scheduler.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.1]


def test_batches_do_not_change_the_rate():
    optimizer = optimizer_of()
    scheduler = InverseTime(optimizer, 1.0)
    scheduler.step_batch(7)
    assert optimizer.param_groups[0]["lr"] == 0.4


def test_state_is_loaded_by_the_weights_only_default_of_torch(tmp_path):
    """Its own state is enough, and torch's weights-only default loads it."""
    scheduler = InverseTime(optimizer_of(), 0.5)
    for _ in range(3):
        scheduler.step(0.25)
    torch.save(scheduler.state_dict(), str(tmp_path / "state.th"))
    optimizer = optimizer_of()
    other = InverseTime(optimizer, 0.5)
    other.load_state_dict(torch.load(str(tmp_path / "state.th")))
    other.step(0.25)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.4 / 3)


def test_decay_changes_the_rate():
    found = []
    for rate in (0.0, 0.035, 0.05):
        optimizer = optimizer_of()
        InverseTime(optimizer, rate).step()
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([0.4, 0.4 / 1.035, 0.4 / 1.05])


@pytest.mark.parametrize("rate", [-0.1, math.inf, math.nan, None])
def test_rate_out_of_range_is_an_error(rate):
    with pytest.raises(ConfigurationError, match="rate: expected a number of at least 0, got"):
        InverseTime(optimizer_of(), rate)


def test_scheduler_is_registered_as_inverse_time():
    params = Params({"type": "inverse_time", "rate": 0.035})
    scheduler = LearningRateScheduler.from_params(params, optimizer=optimizer_of())
    assert isinstance(scheduler, InverseTime)
    with pytest.raises(ConfigurationError, match="rate"):
        LearningRateScheduler.from_params(
            Params({"type": "inverse_time"}), optimizer=optimizer_of()
        )
