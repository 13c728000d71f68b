"""Trainings that are killed and recovered end like a training without interruption."""

import random

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import SimpleTagger
from allennlp.training import gradient_descent_trainer

from allennlp_nef.training.trainer import NefTrainer, random_states, set_random_states
from tests.training.small_run import (
    KILLED,
    PROCESSES,
    config,
    kill_before_call,
    metrics_of,
    run,
    run_in_child,
    weights_of,
)

BATCHES = 4  # of the training data in an epoch; there are as many of the validation data
AVERAGED = {
    "trainer": {
        "moving_average": {"type": "resumable_exponential", "decay": 0.8},
        "learning_rate_scheduler": {"type": "inverse_time", "rate": 0.5},
        "num_gradient_accumulation_steps": 2,
    },
    "data_loader": {"batch_size": 3, "shuffle": True},
}
CASES = {
    "within the third epoch": ({}, (SimpleTagger, "forward", 4 * BATCHES + 3)),
    "before the best weights": ({}, (gradient_descent_trainer, "hardlink_or_copy", 4)),
    "averaged, within the second epoch": (AVERAGED, (SimpleTagger, "forward", 2 * BATCHES + 2)),
    "averaged, before the best weights": (AVERAGED, (NefTrainer, "_save_model_state", 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_killed_training_recovers_bit_for_bit(case, tmp_path):
    options, event = CASES[case]
    values = config(tmp_path, **options)
    run(values, tmp_path / "whole")
    status = run_in_child(values, tmp_path / "killed", lambda: kill_before_call(*event))
    assert status == KILLED
    run(values, tmp_path / "killed", recover=True)
    for whole, recovered in zip(*(weights_of(tmp_path / name) for name in ("whole", "killed"))):
        assert all(torch.equal(recovered[key], weight) for key, weight in whole.items())
    assert metrics_of(tmp_path / "killed") == metrics_of(tmp_path / "whole")


def test_two_killed_processes_recover_bit_for_bit(tmp_path):
    values = config(tmp_path, **PROCESSES)
    values["trainer"]["num_epochs"] = 2
    assert run_in_child(values, tmp_path / "whole") == 0
    event = (SimpleTagger, "forward", 3 * BATCHES // 2 + 1)
    assert run_in_child(values, tmp_path / "killed", lambda: kill_before_call(*event)) != 0
    assert [path.name for path in (tmp_path / "killed").glob("model_state*")] == [
        "model_state_e1_b0.th"
    ]
    assert run_in_child(values, tmp_path / "killed", recover=True) == 0
    for whole, recovered in zip(*(weights_of(tmp_path / name) for name in ("whole", "killed"))):
        assert all(torch.equal(recovered[key], weight) for key, weight in whole.items())


def test_a_checkpoint_within_an_epoch_continues_with_the_same_batches(tmp_path):
    without_dropout = config(tmp_path)
    without_dropout["model"]["encoder"]["dropout"] = 0.0
    without_dropout["trainer"]["checkpointer"] = {"save_every_num_batches": 3}
    run(without_dropout, tmp_path / "whole")
    event = (SimpleTagger, "forward", 2 * BATCHES + 4)
    run_in_child(without_dropout, tmp_path / "killed", lambda: kill_before_call(*event))
    assert (tmp_path / "killed" / "model_state_e1_b3.th").exists()
    run(without_dropout, tmp_path / "killed", recover=True)
    whole, recovered = (weights_of(tmp_path / name)[0] for name in ("whole", "killed"))
    assert all(torch.equal(recovered[key], weight) for key, weight in whole.items())


def test_a_training_that_ran_out_of_patience_stays_finished(tmp_path):
    values = config(tmp_path)
    values["trainer"].update(patience=1, optimizer={"type": "sgd", "lr": 0.0}, num_epochs=9)
    run(values, tmp_path / "run")
    files = {path: path.read_bytes() for path in (tmp_path / "run").glob("*.th")}
    assert len(metrics_of(tmp_path / "run")) == 2
    run(values, tmp_path / "run", recover=True)
    assert len(metrics_of(tmp_path / "run")) == 2
    assert {path: path.read_bytes() for path in (tmp_path / "run").glob("*.th")} == files


def test_random_states_are_loaded_as_tensors_and_numbers(tmp_path):
    def draw():
        return [random.random(), numpy.random.random(), torch.rand(1).item()]

    torch.save(random_states(torch.device("cpu")), tmp_path / "states")
    expected = draw()
    states = torch.load(tmp_path / "states", weights_only=True)
    set_random_states(states, torch.device("cpu"))
    assert draw() == expected


def test_an_unknown_option_is_an_error(tmp_path):
    values = config(tmp_path, trainer={"patiance": 3})
    with pytest.raises(ConfigurationError):
        run(values, tmp_path / "run")
