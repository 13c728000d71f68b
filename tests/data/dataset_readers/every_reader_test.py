"""What holds for every reader: limits, worker processes, distributed training."""

import io
import multiprocessing
import pickle
import signal
import traceback
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import install_sigterm_handler
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, WorkerError
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from allennlp_nef.errors import DataFormatError, FileError
from tests.data.dataset_readers.reader_files import (
    READERS,
    sentence_of,
    sentences_of,
    warnings_of,
    write,
)

pytestmark = pytest.mark.parametrize("name", list(READERS))


def make(name, **options):
    return DatasetReader.from_params(Params({"type": name, **options}))


@pytest.mark.parametrize(
    "options, sentences, warning",
    [
        ({}, [0, 1, 2, 3, 4, 5], []),
        ({"max_tokens": 8}, [0, 2, 4, 5], ["Left out 2 of 6 sentences: they have more than 8 tok"]),
        (
            {"max_tokens": 8, "max_instances": 2},
            [0, 2],
            ["Left out 1 of 3 sentences: they have more than 8 tok"],
        ),
    ],
)
def test_max_tokens_leaves_out_longer_sentences(
    name, tmp_path, caplog, options, sentences, warning
):
    instances = make(name, **options).read(write(tmp_path, name, [2, 9, 8, 10, 1, 1]))
    assert list(map(sentence_of, instances)) == sentences
    assert [message[: len(warning[0])] for message in warnings_of(caplog)] == warning


def test_max_tokens_that_leave_no_sentence_are_an_error(name, tmp_path):
    path = write(tmp_path, name, [2, 3])
    message = f"{path}: expected some sentence of at most 1 tokens (max_tokens), got none among 2"
    with pytest.raises(DataFormatError) as info:
        list(make(name, max_tokens=1).read(path))
    assert str(info.value) == message


@pytest.mark.parametrize("limit", [0, True])
def test_max_tokens_that_is_no_positive_integer_is_refused(name, limit):
    with pytest.raises(ConfigurationError, match="max_tokens: expected an integer of at least 1"):
        make(name, max_tokens=limit)


def test_indexers_are_not_sent_with_instances(name, tmp_path):
    reader = make(name)
    reader._set_worker_info(WorkerInfo(1, 0))
    instance = next(iter(reader.read(write(tmp_path, name, [2]))))
    copied = pickle.loads(pickle.dumps(instance))
    assert copied["metadata"].metadata == instance["metadata"].metadata
    assert copied["tags"].labels == instance["tags"].labels
    for field in {"tokens", "source", "target"} & set(instance.fields):
        assert instance[field]._token_indexers is None
        reader.apply_token_indexers(copied)
        assert set(copied[field].token_indexers) == {"tokens"}


def test_workers_share_the_sentences(name, tmp_path, caplog):
    path = write(tmp_path, name, [2, 9, 2, 2, 2, 9, 2, 2])
    shards = []
    for worker in range(2):
        reader = make(name, max_tokens=8)
        reader._set_worker_info(WorkerInfo(2, worker))
        shards.append(list(map(sentence_of, reader.read(path))))
    assert shards == [[0, 3, 6], [2, 4, 7]]
    assert len(warnings_of(caplog)) == 1


def test_processes_share_the_sentences(name, tmp_path, monkeypatch):
    path = write(tmp_path, name, [2] * 7)
    monkeypatch.setattr("allennlp.common.util.is_distributed", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    shards = []
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        shards.append(list(map(sentence_of, make(name).read(path))))
    assert shards == [[0, 2, 4, 6], [1, 3, 5]]


def loader_of(name, path, num_workers):
    return MultiProcessDataLoader(
        make(name),
        path,
        batch_size=2,
        num_workers=num_workers,
        max_instances_in_memory=4,
        quiet=True,
    )


def test_two_worker_processes_give_each_instance_once(name, tmp_path):
    path = write(tmp_path, name, [2, 3, 1, 4, 2, 5, 2, 3, 3])
    loader = loader_of(name, path, 2)
    loader.index_with(Vocabulary.from_instances(make(name).read(path)))
    for _ in range(2):
        assert sorted(sentences_of(loader)) == list(range(9))


def break_second_sentence(name, path):
    """Makes an error in the second sentence; returns its message."""
    path, number = (f"{path}.tags", 1) if name == "wmt_word_qe" else (path, 4)
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    if name == "wmt_word_qe":
        lines[number] = lines[number].replace("BAD", "MEDIOCRE", 1)
        position = lines[number].split().index("MEDIOCRE") + 1
        expected = f"expected OK or BAD, got 'MEDIOCRE' as tag {position}"
    else:
        lines[number] = lines[number][: max(lines[number].rfind(" "), lines[number].rfind("\t"))]
        expected = {
            "conll_tags": f"expected 2 columns as in line 1, got 1: {lines[number]!r}",
            "conllu_tags": f"expected 10 columns, separated by tabs, got 9: {lines[number]!r}",
        }[name]
    Path(path).write_text("\n".join(lines), encoding="utf-8")
    return f"{path}:{number + 1}: {expected}"


def test_on_error_gets_the_error_and_the_others_are_read(name, tmp_path):
    path = write(tmp_path, name, [2, 3, 2])
    message = break_second_sentence(name, path)
    reader, errors = make(name), []
    reader.on_error = errors.append
    assert list(map(sentence_of, reader.read(path))) == [0, 2]
    assert list(map(str, errors)) == [message]


class Unreadable(io.BytesIO):
    def fail(self, *arguments):
        raise OSError(5, "Input/output error")

    read = read1 = readline = fail


@pytest.mark.parametrize(
    "opened, reason",
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (FileNotFoundError(2, "No such file or directory"), "No such file or directory"),
        (Unreadable, "Input/output error"),
    ],
    ids=["no permission", "vanished", "a bad disk"],
)
def test_a_file_that_the_system_does_not_read_is_named(name, tmp_path, monkeypatch, opened, reason):
    path = write(tmp_path, name, [2])

    def fail(*arguments):
        if opened is not Unreadable:
            raise opened
        return opened()

    monkeypatch.setattr("allennlp_nef.data.formats.text_files.open", fail, raising=False)
    first = f"{path}.src" if name == "wmt_word_qe" else path
    with pytest.raises(FileError) as info:
        list(make(name).read(path))
    assert str(info.value) == f"{first}: expected a file that can be read, got {reason!r}"


def last_line(error):
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(lines).rstrip().split("\n")[-1].strip()


@pytest.fixture
def sigterm_handler():
    """The handler that AllenNLP's commands install."""
    handler = signal.getsignal(signal.SIGTERM)
    install_sigterm_handler()
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.usefixtures("sigterm_handler")
def test_message_of_a_worker_process_is_the_last_line(name, tmp_path, capfd):
    path = write(tmp_path, name, [2, 3, 2])
    vocab = Vocabulary.from_instances(make(name).read(path))
    message = break_second_sentence(name, path)
    with pytest.raises(WorkerError) as info:
        loader = loader_of(name, path, 1)
        loader.index_with(vocab)
        list(loader)
    assert last_line(info.value) == f"{DataFormatError.__module__}.DataFormatError: {message}"
    for worker in multiprocessing.active_children():
        worker.join(10)
    assert "Traceback" not in capfd.readouterr().err  # of the worker, after the report
