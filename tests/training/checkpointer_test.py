"""The checkpointer in this process; `recovery_test.py` has trainings that are killed."""

import errno
import io
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import numpy
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import CategoricalAccuracy, F1Measure, SpanBasedF1Measure

from allennlp_nef.training import ResumableCheckpointer
from allennlp_nef.training.checkpointer import damage_of, link
from allennlp_nef.training.recovery import (
    Recovery,
    Termination,
    counts_of,
    decode,
    encode,
    random_states,
    set_counts,
    set_random_states,
)
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
    for name in ("keep_most_recent_by_count", "save_every_num_batches"):
        with pytest.raises(ConfigurationError, match=f"{name}: expected .* got 0"):
            ResumableCheckpointer(str(tmp_path), **{name: 0})


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
    assert fork.exitcode == -signal.SIGTERM and not termination.is_requested
    os.kill(os.getpid(), signal.SIGTERM)
    assert termination.is_requested and not sigterm
    termination.stop()  # it came after the last checkpoint, and is not lost
    assert sigterm


def draw():
    return (
        random.random(),
        random.gauss(0, 1),
        numpy.random.rand(),
        numpy.random.randn(),
        torch.rand(1).item(),
    )


def test_random_numbers_are_drawn_again():
    draw()  # one of two normal numbers is kept for the next draw
    states = random_states()
    numbers = draw()
    assert draw() != numbers
    set_random_states(states)
    assert draw() == numbers


def test_gpus_have_states_too(monkeypatch):
    states = [torch.tensor([1]), torch.tensor([2])]
    restored = {}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: restored.update({device: state})
    )
    set_random_states(random_states())
    assert restored == {0: states[0]}


class Model(torch.nn.Module):
    """With metrics as an attribute, in a dictionary, and in a list of a module in it."""

    def __init__(self):
        super().__init__()
        vocab = Vocabulary()
        for label in ("O", "B-X", "I-X"):
            vocab.add_token_to_namespace(label, "labels")
        self.accuracy = CategoricalAccuracy()
        self.by_name = {"f1": F1Measure(1)}
        self.module = torch.nn.Identity()
        self.module.in_list = [SpanBasedF1Measure(vocab, "labels")]

    @property
    def all_metrics(self):
        return [self.accuracy, *self.by_name.values(), *self.module.in_list]

    def count(self, gold):
        scores = torch.eye(3)[torch.tensor([[0, 1, 2, 0]])]
        for metric in self.all_metrics:
            metric(scores, torch.tensor([gold]))

    def scores(self):
        return [metric.get_metric() for metric in self.all_metrics]


def saved_and_loaded(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def test_metrics_go_on_counting_where_others_stopped():
    whole, first, second = Model(), Model(), Model()
    batches = [[0, 1, 2, 0], [1, 2, 0, 0], [1, 1, 2, 0]]
    for gold in batches:
        whole.count(gold)
    first.count(batches[0])
    set_counts(second, saved_and_loaded(counts_of(first)))
    for gold in batches[1:]:
        second.count(gold)
    assert second.scores() == whole.scores()


def test_encoded_data_are_loaded_as_they_were():
    data = {
        "a": [1, 2.5, None, "x", True],
        ("b", 1): {3},
        "c": numpy.arange(3),
        "d": numpy.float64(0.1),
    }
    result = decode(saved_and_loaded(encode(data)))
    assert (result["c"] == data["c"]).all() and result["c"].dtype == data["c"].dtype
    assert type(result["d"]) is float
    assert {**result, "c": 0} == {**data, "c": 0}


def test_what_is_no_data_is_not_encoded():
    with pytest.raises(TypeError, match="expected data, got <class 'function'>"):
        encode([saved_and_loaded])


def test_damage_is_found_wherever_it_is(tmp_path):
    path = tmp_path / "x.th"
    torch.save({"a": torch.ones(3)}, path)
    assert damage_of(str(path)) is None
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        for bit in (1, 128):
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(changed)
            assert damage_of(str(path)) in (None, "is damaged", "is incomplete")


def test_a_link_is_a_copy_where_there_are_none(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_bytes(b"1")
    link(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == b"1"


def test_as_many_processes_go_on_as_before(trainer_of, tmp_path):
    with pytest.raises(ConfigurationError, match="expected 2 process.* as before, got 1"):
        Recovery(trainer_of(tmp_path)).restore({"processes": [{}, {}], "scaler": None})
