"""Trainings that are killed and recovered end like a training without interruption."""

import json
import random
import re
import shutil
import tarfile

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import with_overrides
from allennlp.models import SimpleTagger, load_archive
from allennlp.training import gradient_descent_trainer

from allennlp_nef.errors import UserError
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
    files = [*(tmp_path / "run").glob("*.th"), tmp_path / "run" / "metrics.json"]
    before = [path.read_bytes() for path in files]
    assert len(metrics_of(tmp_path / "run")) == 2
    run(values, tmp_path / "run", recover=True)
    assert len(metrics_of(tmp_path / "run")) == 2
    assert [path.read_bytes() for path in files] == before


@pytest.mark.parametrize(
    "key, value",
    [
        ("trainer.optimizer.lr", 0.01),
        ("trainer.learning_rate_scheduler", {"type": "inverse_time", "rate": 0.5}),
        ("model.encoder.hidden_size", 5),
        ("data_loader.batch_sampler.batch_size", 2),
        ("validation_data_path", "other.txt"),
    ],
)
def test_a_recovery_with_another_config_is_an_error_that_names_the_key(key, value, tmp_path):
    values = config(tmp_path, trainer={"num_epochs": 1})
    run(values, tmp_path / "run")
    shutil.copy(tmp_path / "data.txt", tmp_path / "other.txt")
    value = str(tmp_path / value) if value == "other.txt" else value
    changed = with_overrides(values, {key: value})
    (tmp_path / "run" / "config.json").write_text(json.dumps(changed))
    with pytest.raises(ConfigurationError, match=key):
        run(changed, tmp_path / "run", recover=True)


def test_a_recovery_may_have_more_epochs(tmp_path):
    values = config(tmp_path, trainer={"num_epochs": 1})
    run(values, tmp_path / "run")
    values["trainer"].update(num_epochs=3, patience=9)
    (tmp_path / "run" / "config.json").write_text(json.dumps(values))
    run(values, tmp_path / "run", recover=True)
    assert len(metrics_of(tmp_path / "run")) == 3


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_loss_of_nan_leaves_the_archive_of_the_best_epoch(epochs, tmp_path, monkeypatch):
    forward, calls = SimpleTagger.forward, []

    def forward_until_nan(self, *args, **options):
        calls.append(self)
        output = forward(self, *args, **options)
        is_late = len(calls) > 2 * BATCHES * epochs + 2
        return {**output, "loss": output["loss"] * (float("nan") if is_late else 1.0)}

    monkeypatch.setattr(SimpleTagger, "forward", forward_until_nan)
    with pytest.raises(UserError, match=f"batch 2 of epoch {epochs} "):
        run(config(tmp_path, include_in_archive=["out.log"]), tmp_path / "run")
    archive = tmp_path / "run" / "model.tar.gz"
    assert archive.exists() == bool(epochs)
    if epochs:
        with tarfile.open(archive) as members:
            assert "out.log" in members.getnames()
        weights = load_archive(str(archive)).model.state_dict()
        best = torch.load(tmp_path / "run" / "best.th")
        assert all(torch.equal(weights[name], weight) for name, weight in best.items())


def test_progress_bars_show_the_loss_and_the_validation_metric(tmp_path, capsys):
    values = config(tmp_path, trainer={"validation_metric": "+accuracy"})
    run(values, tmp_path / "run")
    names = {*re.findall("([a-z0-9_]+): 0[.]", capsys.readouterr().err)}
    assert {"accuracy"} < names <= {"accuracy", "loss"}


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
