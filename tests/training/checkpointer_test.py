"""The checkpointer in this process; `recovery_test.py` has trainings that are killed."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from allennlp_nef.training import ResumableCheckpointer
from allennlp_nef.training.recovery import Resumption, Termination
from tests.small_experiment import experiment

CONFIG = Path(__file__).with_name("recovery.json")


@pytest.fixture
def trainer_of(root, monkeypatch):
    """`trainer_of(folder, epochs)`"""
    monkeypatch.chdir(root)

    def make(folder, epochs=1):
        trainer = experiment(CONFIG, folder).trainer
        trainer._num_epochs, trainer._metric_tracker._patience = epochs, None
        return trainer

    return make


@pytest.fixture
def sigterm():
    """How often a handler of the test got SIGTERM."""
    received = []
    before = signal.signal(signal.SIGTERM, lambda *_: received.append(1))
    yield received
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    "count, age, kept",
    [(1, None, [3]), (2, None, [3, 2]), (1, 1000, [3, 2, 1]), (None, None, [3, 2, 1])],
)
def test_checkpoints_are_kept_by_their_number_or_age(trainer_of, tmp_path, count, age, kept):
    trainer = trainer_of(tmp_path, epochs=3)
    checkpointer = trainer._checkpointer
    checkpointer._keep_most_recent_by_count, checkpointer._keep_most_recent_by_age = count, age
    trainer.train()
    for kind in ("model", "best", "training"):
        names = {path.name for path in tmp_path.glob(f"{kind}_state_*")}
        assert names == {f"{kind}_state_e{epoch}_b0.th" for epoch in kept}


def test_the_scale_of_mixed_precision_is_recovered(trainer_of, tmp_path):
    class Scaler:
        def __init__(self, scale):
            self.scale = scale

        def state_dict(self):
            return {"scale": self.scale}

        def load_state_dict(self, state):
            self.scale = state["scale"]

    first, second = trainer_of(tmp_path), trainer_of(tmp_path)
    first.train()
    first._scaler, second._scaler = Scaler(8.0), Scaler(1.0)
    first._checkpointer.save_checkpoint(first)
    second.train()
    assert second._scaler.scale == 8


def test_the_last_checkpoint_is_always_kept(tmp_path):
    with pytest.raises(ConfigurationError, match="keep_most_recent_by_count: expected .* got 0"):
        ResumableCheckpointer(str(tmp_path), keep_most_recent_by_count=0)


def test_a_sharded_model_is_refused(trainer_of, tmp_path):
    trainer = trainer_of(tmp_path)
    trainer._checkpointer.state_is_sharded = True
    with pytest.raises(ConfigurationError, match="expected the type 'default' for a sharded model"):
        trainer.train()


def test_sigterm_is_noted_by_this_process_and_ends_its_forks(sigterm):
    termination = Termination()
    termination.start()
    context = multiprocessing.get_context("fork")
    started = context.Event()
    fork = context.Process(target=lambda: (started.set(), time.sleep(60)))
    fork.start()
    assert started.wait(60)
    fork.terminate()
    fork.join()
    assert fork.exitcode == -signal.SIGTERM and not termination.requested
    os.kill(os.getpid(), signal.SIGTERM)
    termination.stop()
    assert termination.requested and not sigterm
    os.kill(os.getpid(), signal.SIGTERM)
    assert sigterm


def test_sigterm_after_the_last_checkpoint_is_not_lost(sigterm, tmp_path):
    resumption = Resumption(str(tmp_path))
    resumption.termination.start()
    os.kill(os.getpid(), signal.SIGTERM)
    resumption.on_end(None, metrics={"epoch": 0})
    assert sigterm
