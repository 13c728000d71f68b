"""Trainings that are killed and recovered end like a training without interruption."""

import json
import math
import os
import random
import shutil
import signal
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


def forward(number):
    """The call of the model with this number. Each epoch has two calls per batch."""
    return SimpleTagger, "forward", number


LATE = forward(4 * BATCHES + 3)  # in the third epoch
IN_EPOCH = {"checkpointer": {"save_every_num_batches": 2}}
AVERAGED = {
    "moving_average": {"type": "exponential", "decay": 0.8},
    "num_gradient_accumulation_steps": 2,
}
SHUFFLED = {"data_loader": {"batch_size": 3, "shuffle": True}}
LAZY = {"data_loader": {"batch_size": 3, "shuffle": True, "max_instances_in_memory": 5}}
SGD = {"type": "sgd", "lr": 0.1, "momentum": 0.9}
TWO_OPTIMIZERS = {
    "optimizers": {"default": {"type": "adam"}, "words": SGD},
    "parameter_groups": [[["embedder"], {"optimizer_name": "words"}]],
}
UNFREEZING = {"gradual_unfreezing": True, "discriminative_fine_tuning": True}
LAYERS = [[["embedder"], {}], [["encoder"], {}], [["projection"], {}]]


# Options of the trainer, other keys of the config, and the call that kills the training.
CASES: dict[str, tuple] = {
    "defaults": ({}, {}, LATE),
    "before the best weights": ({}, {}, (gradient_descent_trainer, "hardlink_or_copy", 4)),
    "no validation data": ({}, {"validation_data_path": None}, forward(2 * BATCHES + 3)),
    "gradients": ({"grad_norm": 0.1, "grad_clipping": 0.01}, {}, LATE),
    "no_grad": ({"no_grad": ["embedder"]}, {}, LATE),
    "patience": ({"patience": 1, "optimizer": SGD}, {}, LATE),
    "default callbacks and checks": (
        {"run_confidence_checks": True, "enable_default_callbacks": False},
        {},
        LATE,
    ),
    "validation every second epoch": (
        {"callbacks": [{"type": "should_validate_callback", "validation_interval": 2}]},
        {},
        forward(2 * BATCHES + 3),
    ),
    "averaged": (AVERAGED, SHUFFLED, forward(2 * BATCHES + 2)),
    "averaged, before the best weights": (AVERAGED, {}, (NefTrainer, "_save_model_state", 3)),
    "lazy": ({}, LAZY, LATE),
    "one worker": ({}, {"data_loader": {**SHUFFLED["data_loader"], "num_workers": 1}}, LATE),
    "within an epoch": (IN_EPOCH, {}, LATE),
    "within an epoch, at its end": (IN_EPOCH, {}, forward(3 * BATCHES + 2)),
    "within an epoch, lazy and averaged": (
        {**AVERAGED, "checkpointer": {"save_every_num_batches": 1}},
        LAZY,
        forward(2 * BATCHES + 4),
    ),
    "only within epochs": (
        {"checkpointer": {"save_every_num_batches": 3, "save_completed_epochs": False}},
        {},
        LATE,
    ),
    "no checkpoints": ({"checkpointer": None}, {}, LATE),
    "multi optimizer": ({"optimizer": {"type": "multi", **TWO_OPTIMIZERS}}, {}, LATE),
    "momentum": (
        {
            "optimizer": SGD,
            "momentum_scheduler": {"type": "inverted_triangular", "cool_down": 2, "warm_up": 2},
        },
        {},
        LATE,
    ),
    "gradual unfreezing": (
        {
            "optimizer": {**SGD, "parameter_groups": [*LAYERS]},
            "learning_rate_scheduler": {"type": "slanted_triangular", **UNFREEZING},
        },
        {},
        forward(2 * BATCHES + 3),
    ),
}
# Steps by epoch, by batch and by metric, and torch's schedulers inside of AllenNLP's.
WARMUP = {"type": "linear_with_warmup", "warmup_steps": 2}
COSINE = {"type": "cosine_with_warmup", "num_warmup_steps": 2, "num_training_steps": 4}
SCHEDULERS = [
    {"type": "inverse_time", "rate": 0.5},
    {"type": "noam", "model_size": 4, "warmup_steps": 5},
    {"type": "reduce_on_plateau", "patience": 0},
    {"type": "combined", "schedulers": [[1, WARMUP], [3, COSINE]]},
]
CASES |= {each["type"]: ({"learning_rate_scheduler": each}, {}, LATE) for each in SCHEDULERS}


def assert_same_weights(whole, recovered):
    pairs = list(zip(weights_of(whole), weights_of(recovered), strict=True))
    models = [load_archive(str(folder / "model.tar.gz")).model for folder in (whole, recovered)]
    for expected, weights in [*pairs, [model.state_dict() for model in models]]:
        assert all(torch.equal(weights[key], weight) for key, weight in expected.items())


def kill_and_recover(values, event, folder):
    run(values, folder / "whole")
    status = run_in_child(values, folder / "killed", lambda: kill_before_call(*event))
    assert status == KILLED
    run(values, folder / "killed", recover=True)
    assert_same_weights(folder / "whole", folder / "killed")


@pytest.mark.parametrize("case", CASES)
def test_a_killed_training_recovers_bit_for_bit(case, tmp_path):
    trainer, options, event = CASES[case]
    kill_and_recover(config(tmp_path, trainer=trainer, **options), event, tmp_path)
    for whole, recovered in zip(*(metrics_of(tmp_path / name) for name in ("whole", "killed"))):
        if "within" in case or "validation" in case:
            # An epoch that is continued has no training metrics, and AllenNLP repeats the last validation metrics.
            recovered = {**whole, **recovered}
        assert recovered == whole


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_training_killed_while_it_saves_recovers_bit_for_bit(number, tmp_path):
    """A checkpoint has two files. Half of the file with this number is written."""
    values = config(tmp_path)
    run(values, tmp_path / "whole")

    def kill_within_save():
        save, calls = torch.save, []

        def save_half(value, path, **options):
            calls.append(path)
            save(value, path, **options)
            if len(calls) == number:
                os.truncate(path, os.path.getsize(path) // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        torch.save = save_half

    assert run_in_child(values, tmp_path / "killed", kill_within_save) == KILLED
    run(values, tmp_path / "killed", recover=True)
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")
    assert metrics_of(tmp_path / "whole") == metrics_of(tmp_path / "killed")


@pytest.mark.parametrize("damage", [0, 100, -1, None])
@pytest.mark.parametrize("name", ["model_state", "training_state"])
def test_an_incomplete_checkpoint_is_ignored(name, damage, tmp_path):
    """A file of the last checkpoint was truncated, or is missing."""
    values = config(tmp_path)
    run(values, tmp_path / "whole")
    assert run_in_child(values, tmp_path / "killed", lambda: kill_before_call(*LATE)) == KILLED
    path = tmp_path / "killed" / f"{name}_e2_b0.th"
    content = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(content[:damage])
    run(values, tmp_path / "killed", recover=True)
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.usefixtures("plugins_once")
@pytest.mark.parametrize("checkpointer", [{}, {"save_every_num_batches": 1}])
def test_two_killed_processes_recover_bit_for_bit(checkpointer, tmp_path):
    values = config(tmp_path, **PROCESSES)
    values["trainer"].update(num_epochs=2, checkpointer=checkpointer)
    assert run_in_child(values, tmp_path / "whole") == 0
    event = forward(3 * BATCHES // 2 + 1)
    assert run_in_child(values, tmp_path / "killed", lambda: kill_before_call(*event)) != 0
    names = {path.name for path in (tmp_path / "killed").glob("model_state*")}
    last = "model_state_e1_b1.th" if checkpointer else "model_state_e1_b0.th"
    assert last in names
    assert run_in_child(values, tmp_path / "killed", recover=True) == 0
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize(
    "options",
    [
        {"data_loader": {"batch_size": 3, "batches_per_epoch": 2}},
        {"validation_data_loader": {"batch_size": 3, "batches_per_epoch": 2}},
        {"data_loader": {"type": "simple", "batch_size": 3}},
        {"trainer": {"type": "gradient_descent"}},
    ],
)
def test_a_recovery_that_would_not_be_exact_is_an_error(options, tmp_path):
    values = config(tmp_path, **options)
    values["trainer"]["num_epochs"] = 1
    run(values, tmp_path / "run")
    values["trainer"]["type"] = "nef"
    (tmp_path / "run" / "config.json").write_text(json.dumps(values))
    with pytest.raises(ConfigurationError):
        run(values, tmp_path / "run", recover=True)


def test_the_scale_of_mixed_precision_is_restored(tmp_path, monkeypatch):
    build = NefTrainer.__init__

    def build_with_scaler(self, *arguments, **options):
        build(self, *arguments, **options)
        # AllenNLP builds it on GPUs only.
        self._scaler = torch.amp.GradScaler("cpu", growth_factor=1.7, growth_interval=2)

    monkeypatch.setattr(NefTrainer, "__init__", build_with_scaler)
    kill_and_recover(config(tmp_path, trainer=IN_EPOCH), LATE, tmp_path)


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


def test_random_states_are_loaded_as_tensors_and_numbers(tmp_path):
    def draw():
        return [random.random(), numpy.random.random(), torch.rand(1).item()]

    torch.save(random_states(torch.device("cpu")), tmp_path / "states")
    expected = draw()
    states = torch.load(tmp_path / "states", weights_only=True)
    set_random_states(states, torch.device("cpu"))
    assert draw() == expected


@pytest.mark.parametrize(
    "options",
    [
        {"patiance": 3},
        {"num_epochs": 0},
        {"num_gradient_accumulation_steps": 0},
        {"grad_norm": -1.0},
        {"grad_norm": math.nan},
        {"grad_clipping": 0.0},
        {"grad_clipping": math.inf},
    ],
)
def test_a_bad_option_is_an_error_that_names_it(options, tmp_path):
    values = config(tmp_path, trainer=options)
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        run(values, tmp_path / "run")
