import importlib
import json
import os
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from torch.nn.parallel import DistributedDataParallel

from allennlp_nef.training import MaxPiecesBatchSampler, NefTrainer
from allennlp_nef.training.trainer import close_group, refuse_test_data, share_cores, share_evenly
from tests.processes import in_two_processes


class Loader:
    """In each batch a process has as many sentences as its rank, plus one."""

    batches_per_epoch = None

    def __init__(self, rank, number):
        self._instances = [f"{rank}.{i}" for i in range(number)]
        self._size = rank + 1

    def __len__(self):
        return len(self._instances) // self._size


def shares(rank, numbers):
    loader = Loader(rank, numbers[rank])
    try:
        share_evenly(loader)
    except ConfigurationError as error:
        return error.message
    return loader._instances, loader.batches_per_epoch


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1, 1), (["0.0"], ["1.0"])),
        ((5, 2), (["0.0", "0.1", "0.2", "0.3", "0.4"], ["1.0", "1.1", "1.0", "1.1", "1.0"])),
    ],
)
def test_process_with_fewer_sentences_or_batches_repeats_some(numbers, expected, tmp_path):
    most = max(numbers)
    results = in_two_processes(shares, tmp_path / "p", numbers)
    assert results == [(instances, most) for instances in expected]


def shares_by_pieces(rank, number):
    loader = Loader(0, number)
    loader.batch_sampler = MaxPiecesBatchSampler(9)
    share_evenly(loader)
    return loader.batches_per_epoch


def test_batches_that_differ_in_each_epoch_get_a_number(tmp_path):
    assert in_two_processes(shares_by_pieces, tmp_path / "p", 3) == [3, 3]


def test_process_without_sentences_is_an_error(tmp_path):
    message = "train_data_path: expected at least a sentence for each of 2 processes, got 1"
    assert in_two_processes(shares, tmp_path / "p", (1, 0)) == [message, message]


def restore(rank, epochs):
    trainer = NefTrainer.__new__(NefTrainer)
    trainer._checkpointer, trainer._distributed = None, True
    trainer._start_after_epochs_completed = epochs[rank]
    trainer._start_after_batches_in_epoch_completed = 0
    try:
        trainer._maybe_restore_checkpoint()
    except ConfigurationError as error:
        return error.message


def test_hosts_with_different_checkpoints_are_an_error(tmp_path):
    messages = in_two_processes(restore, tmp_path / "p", (2, 1))
    assert (
        messages
        == [
            "expected the same checkpoint in the folders of all hosts, got _e2_b0.th of process 0, _e1_b0.th of "
            "process 1: copy model_state and training_state of the newest one"
        ]
        * 2
    )
    assert in_two_processes(restore, tmp_path / "q", (1, 1)) == [None, None]


def test_test_data_in_the_config_are_an_error(tmp_path):
    refuse_test_data(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"evaluate_on_test": True}))
    with pytest.raises(ConfigurationError, match="^evaluate_on_test: a process of several has"):
        refuse_test_data(str(tmp_path))


def test_processes_share_the_cores_unless_the_threads_are_given(monkeypatch):
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setenv("ALLENNLP_PROCS_PER_NODE", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    share_cores()
    monkeypatch.delitem(os.environ, "OMP_NUM_THREADS")
    share_cores()
    assert threads == [2]


def threads_left(rank):
    """The threads of gloo that are left when the group of a `DistributedDataParallel` is closed."""
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    model.itself = [model]
    model(torch.ones(1, 2)).sum().backward()
    del model
    close_group()
    names = [Path(f"/proc/self/task/{i}/comm").read_text() for i in os.listdir("/proc/self/task")]
    torch.distributed.init_process_group(  # the one that is closed at the end
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    return [name for name in names if "gloo" in name]


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="a Linux system lists its threads")
def test_no_thread_of_the_group_is_left_at_the_end(tmp_path):
    importlib.import_module("torch._dynamo")  # would keep the group if it were imported later
    assert in_two_processes(threads_left, tmp_path / "p") == [[], []]
