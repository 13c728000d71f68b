"""`conll_tags` and `conllu_tags` in worker processes and distributed training."""

import multiprocessing
import signal
import traceback
from pathlib import Path

import pytest
from allennlp.common.util import install_sigterm_handler
from allennlp.data import Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, WorkerError
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from allennlp_nef.data.formats import DataFormatError
from tests.data.dataset_readers.sentence_files import (
    READERS,
    sentence_of,
    sentences_of,
    warnings_of,
    write,
)

pytestmark = pytest.mark.parametrize("name", list(READERS))


def test_workers_share_the_sentences_out(name, tmp_path, caplog):
    path = write(tmp_path, name, [2, 9, 2, 2, 2, 9, 2, 2])
    shards = []
    for worker in range(2):
        reader = READERS[name](max_tokens=8)
        reader._set_worker_info(WorkerInfo(2, worker))
        shards.append(list(map(sentence_of, reader.read(path))))
    assert shards == [[0, 3, 6], [2, 4, 7]]
    assert len(warnings_of(caplog)) == 1


def test_processes_share_the_sentences_out(name, tmp_path, monkeypatch):
    path = write(tmp_path, name, [2] * 7)
    monkeypatch.setattr("allennlp.common.util.is_distributed", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    shards = []
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        shards.append(list(map(sentence_of, READERS[name]().read(path))))
    assert shards == [[0, 2, 4, 6], [1, 3, 5]]


@pytest.mark.parametrize("max_instances_in_memory", [None, 4])
def test_two_worker_processes_give_each_instance_once(name, tmp_path, max_instances_in_memory):
    path = write(tmp_path, name, [2, 3, 1, 4, 2, 5, 2, 3, 3])
    reader = READERS[name]()
    vocab = Vocabulary.from_instances(reader.read(path))
    loader = MultiProcessDataLoader(
        reader,
        path,
        batch_size=2,
        num_workers=2,
        max_instances_in_memory=max_instances_in_memory,
        quiet=True,
    )
    loader.index_with(vocab)
    for _ in range(2):
        assert sorted(sentences_of(loader)) == list(range(9))


def break_line_5(path):
    """Takes a column from the second sentence; returns the message that is due."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    last = max(lines[4].rfind(" "), lines[4].rfind("\t"))
    lines[4] = lines[4][:last]
    Path(path).write_text("\n".join(lines), encoding="utf-8")
    if "\t" in lines[4]:
        return f"{path}:5: expected 10 columns, separated by tabs, got 9: {lines[4]!r}"
    return f"{path}:5: expected 2 columns as in line 1, got 1: {lines[4]!r}"


def last_line(error):
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(lines).rstrip().split("\n")[-1].strip()


def test_the_message_is_the_last_line(name, tmp_path):
    path = write(tmp_path, name, [2, 3, 2])
    message = break_line_5(path)
    with pytest.raises(DataFormatError) as info:
        MultiProcessDataLoader(READERS[name](), path, batch_size=2, quiet=True)
    assert last_line(info.value) == f"{DataFormatError.__module__}.DataFormatError: {message}"


@pytest.fixture
def sigterm_handler():
    """The handler that AllenNLP's commands install."""
    handler = signal.getsignal(signal.SIGTERM)
    install_sigterm_handler()
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.usefixtures("sigterm_handler")
@pytest.mark.parametrize("max_instances_in_memory", [None, 4])
def test_the_message_of_a_worker_process_is_the_last_line(
    name, tmp_path, max_instances_in_memory, capfd
):
    path = write(tmp_path, name, [2, 3, 2])
    reader = READERS[name]()
    vocab = Vocabulary.from_instances(reader.read(path))
    message = break_line_5(path)
    with pytest.raises(WorkerError) as info:
        loader = MultiProcessDataLoader(
            reader,
            path,
            batch_size=2,
            num_workers=1,
            max_instances_in_memory=max_instances_in_memory,
            quiet=True,
        )
        loader.index_with(vocab)
        list(loader)
    assert last_line(info.value) == f"{DataFormatError.__module__}.DataFormatError: {message}"
    for worker in multiprocessing.active_children():
        worker.join(10)
    assert "Traceback" not in capfd.readouterr().err  # of the worker, after the report
