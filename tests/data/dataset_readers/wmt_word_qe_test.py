import logging
import multiprocessing
import pickle
import resource
import signal
import traceback
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import install_sigterm_handler
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, SimpleDataLoader, WorkerError
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from allennlp_nef.data import WmtWordQeReader
from allennlp_nef.data.formats import DataFormatError
from allennlp_nef.data.metadata import TaggingMetadata


def write(folder: Path, lengths: List[int], tagged: bool = True) -> str:
    """Sentences of these target lengths and one source word more; word k of sentence i is `ti_k`."""
    lines: Dict[str, List[str]] = {"src": [], "mt": [], "tags": [], "src-mt.alignments": []}
    for i, length in enumerate(lengths):
        lines["src"].append(" ".join(f"s{i}_{k}" for k in range(length + 1)))
        lines["mt"].append(" ".join(f"t{i}_{k}" for k in range(length)))
        tags = [("OK", "BAD")[(i + k) % 2] for k in range(length)]
        gaps = [tag for word_tag in tags for tag in ("OK", word_tag)] + ["OK"]
        lines["tags"].append(" ".join(gaps if i % 2 else tags))
        lines["src-mt.alignments"].append(
            " ".join(f"{k + 1}-{k}" for k in range(min(i % 3, length)))
        )
    if not tagged:
        del lines["tags"]
    for ending, content in lines.items():
        (folder / f"x.{ending}").write_text("".join(line + "\n" for line in content))
    return str(folder / "x")


def sentence_of(instance: Instance) -> int:
    return int(instance["metadata"].metadata.tokens[0].split("_")[0][1:])


def sentences_of(batches: Any) -> List[int]:
    return [int(item.tokens[0].split("_")[0][1:]) for b in batches for item in b["metadata"]]


def test_instances(tmp_path: Path) -> None:
    reader = DatasetReader.from_params(Params({"type": "wmt_word_qe"}))
    assert isinstance(reader, WmtWordQeReader)
    instances = list(reader.read(write(tmp_path, [3, 2, 4])))
    second = instances[1]
    assert set(second.fields) == {"source", "target", "alignments", "tags", "metadata"}
    assert [token.text for token in second["source"]] == ["s1_0", "s1_1", "s1_2"]
    assert [token.text for token in second["target"]] == ["t1_0", "t1_1"]
    assert second["tags"].labels == ["BAD", "OK"]
    assert second["alignments"].tensor.tolist() == [[False, True, False], [False, False, False]]
    assert second["metadata"].metadata == TaggingMetadata(
        tokens=["t1_0", "t1_1"],
        source=["s1_0", "s1_1", "s1_2"],
        tags=["BAD", "OK"],
        alignments=[(1, 0)],
    )


def test_batches(tmp_path: Path) -> None:
    instances = list(WmtWordQeReader().read(write(tmp_path, [3, 2, 4])))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("source_tokens") == 12 + 2
    assert vocab.get_vocab_size("target_tokens") == 9 + 2
    assert set(vocab.get_token_to_index_vocabulary("labels")) == {"OK", "BAD"}
    batch: Any = next(iter(SimpleDataLoader(instances, 3, vocab=vocab)))
    assert batch["source"]["tokens"]["tokens"].shape == (3, 5)
    assert batch["target"]["tokens"]["tokens"].shape == (3, 4)
    assert batch["tags"].shape == (3, 4)
    assert batch["alignments"].dtype is torch.bool
    assert batch["alignments"].shape == (3, 4, 5)
    # Sentence i has i % 3 pairs, source word k + 1 with target word k.
    assert batch["alignments"].nonzero().tolist() == [[1, 0, 1], [2, 0, 1], [2, 1, 2]]


def test_options(tmp_path: Path) -> None:
    params = {
        "type": "wmt_word_qe",
        "source_token_indexers": {"s": {"type": "single_id", "namespace": "a"}},
        "target_token_indexers": {"t": {"type": "single_id", "namespace": "b"}},
        "label_namespace": "qe_labels",
    }
    reader = DatasetReader.from_params(Params(params))
    instances = list(reader.read(write(tmp_path, [2])))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("a") == 3 + 2
    assert vocab.get_vocab_size("b") == 2 + 2
    assert vocab.get_vocab_size("qe_labels") == 2
    batch: Any = next(iter(SimpleDataLoader(instances, 1, vocab=vocab)))
    assert (set(batch["source"]), set(batch["target"])) == ({"s"}, {"t"})


def test_unlabelled(tmp_path: Path) -> None:
    for instance in WmtWordQeReader().read(write(tmp_path, [3, 2], tagged=False)):
        assert "tags" not in instance.fields
        assert instance["metadata"].metadata.tags is None


def left_out(caplog: pytest.LogCaptureFixture) -> List[str]:
    messages = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    return [message for message in messages if message.startswith("Left out")]


def test_max_tokens_counts_target_words(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prefix = write(tmp_path, [3, 49, 50, 51, 1])
    instances = WmtWordQeReader(max_tokens=49).read(prefix)
    assert [sentence_of(i) for i in instances] == [0, 1, 4]
    assert left_out(caplog) == ["Left out 2 of 5 sentences: they have more than 49 tokens."]


def test_all_left_out(tmp_path: Path) -> None:
    with pytest.raises(DataFormatError, match="expected some .* got none among 2"):
        list(WmtWordQeReader(max_tokens=1).read(write(tmp_path, [3, 2])))


@pytest.mark.parametrize("max_tokens", [None, 51])
def test_nothing_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, max_tokens: Optional[int]
) -> None:
    prefix = write(tmp_path, [3, 50, 51])
    assert len(list(WmtWordQeReader(max_tokens=max_tokens).read(prefix))) == 3
    assert left_out(caplog) == []


def test_max_tokens_with_max_instances(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prefix = write(tmp_path, [9, 1, 9, 1, 1, 1])
    instances = WmtWordQeReader(max_tokens=8, max_instances=2).read(prefix)
    assert [sentence_of(i) for i in instances] == [1, 3]
    assert left_out(caplog) == ["Left out 2 of 4 sentences: they have more than 8 tokens."]


def test_max_tokens_is_not_for_single_sentences() -> None:
    instance = WmtWordQeReader(max_tokens=1).text_to_instance(["a"], ["A", "B"])
    assert len(instance["target"]) == 2


def test_max_tokens_wants_a_positive_number() -> None:
    with pytest.raises(ConfigurationError, match="max_tokens: expected at least 1 or null, got 0"):
        WmtWordQeReader(max_tokens=0)


def test_text_to_instance() -> None:
    reader = WmtWordQeReader()
    instance = reader.text_to_instance(["a", "b"], ["A"], [[1, 0]], ["BAD"], keep_trace=True)
    assert instance["alignments"].tensor.tolist() == [[False, True]]
    assert instance["tags"].labels == ["BAD"]
    assert instance["metadata"].metadata.keep_trace is True
    bare = reader.text_to_instance(["a", "b"], ["A"])
    assert bare["alignments"].tensor.tolist() == [[False, False]]
    assert "tags" not in bare.fields
    assert bare["metadata"].metadata.keep_trace is False


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], ["A"]), "source: expected a list of words, got []"),
        ((["a"], []), "target: expected a list of words, got []"),
        (("ab", ["A"]), "source: expected a list of words, got 'ab'"),
        ((["a"], ["A"], [(0, 1)]), "alignments: expected target indices from 0 to 0, got 1 in 0-1"),
        ((["a"], ["A"], [0]), "alignments: expected pairs (source index, target index), got 0"),
        ((["a"], ["A"], None, []), "tags: expected 1 tags (one a target word), got 0"),
        ((["a"], ["A"], None, ["O"]), "tags: expected OK or BAD, got 'O' as tag 1"),
    ],
)
def test_text_to_instance_refuses(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError) as info:
        WmtWordQeReader().text_to_instance(*arguments)
    assert str(info.value) == message


def test_indexers_are_not_sent_with_instances(tmp_path: Path) -> None:
    reader = WmtWordQeReader()
    reader._set_worker_info(WorkerInfo(1, 0))
    instance = next(reader.read(write(tmp_path, [2])))
    assert instance["source"]._token_indexers is None
    copied = pickle.loads(pickle.dumps(instance))
    reader.apply_token_indexers(copied)
    assert set(copied["source"].token_indexers) == set(copied["target"].token_indexers)


def test_workers_share_the_sentences_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prefix = write(tmp_path, [2, 9, 2, 2, 2, 9, 2, 2])
    shards = []
    for worker in range(2):
        reader = WmtWordQeReader(max_tokens=8)
        reader._set_worker_info(WorkerInfo(2, worker))
        shards.append([sentence_of(i) for i in reader.read(prefix)])
    assert shards == [[0, 3, 6], [2, 4, 7]]
    assert len(left_out(caplog)) == 1


def test_processes_share_the_sentences_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = write(tmp_path, [2] * 7)
    monkeypatch.setattr("allennlp.common.util.is_distributed", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    shards = []
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        shards.append([sentence_of(i) for i in WmtWordQeReader().read(prefix)])
    assert shards == [[0, 2, 4, 6], [1, 3, 5]]


@pytest.mark.parametrize("max_instances_in_memory", [None, 4])
def test_two_worker_processes_give_each_instance_once(
    tmp_path: Path, max_instances_in_memory: Optional[int]
) -> None:
    prefix = write(tmp_path, [2, 3, 1, 4, 2, 5, 2, 3, 3])
    reader = WmtWordQeReader()
    vocab = Vocabulary.from_instances(reader.read(prefix))
    loader = MultiProcessDataLoader(
        reader,
        prefix,
        batch_size=2,
        num_workers=2,
        max_instances_in_memory=max_instances_in_memory,
        quiet=True,
    )
    loader.index_with(vocab)
    for _ in range(2):
        assert sorted(sentences_of(loader)) == list(range(9))


def test_more_instances_than_open_files_from_a_worker(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    prefix = write(tmp_path, [1] * 300)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        loader = MultiProcessDataLoader(
            WmtWordQeReader(), prefix, batch_size=8, num_workers=1, quiet=True
        )
        assert len(list(loader.iter_instances())) == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def break_tags(prefix: str) -> str:
    """Puts an unknown tag on line 2, and returns the message that is due."""
    path = Path(f"{prefix}.tags")
    lines = path.read_text().split("\n")
    lines[1] = lines[1].replace("BAD", "MEDIOCRE", 1)
    path.write_text("\n".join(lines))
    position = lines[1].split().index("MEDIOCRE") + 1
    return f"{path}:2: expected OK or BAD, got 'MEDIOCRE' as tag {position}"


def last_line(error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return "".join(lines).rstrip().split("\n")[-1]


def test_the_message_is_the_last_line(tmp_path: Path) -> None:
    prefix = write(tmp_path, [2, 3, 2])
    message = break_tags(prefix)
    with pytest.raises(DataFormatError) as info:
        MultiProcessDataLoader(WmtWordQeReader(), prefix, batch_size=2, quiet=True)
    assert last_line(info.value) == f"{DataFormatError.__module__}.DataFormatError: {message}"


@pytest.fixture
def sigterm_handler() -> Iterator[None]:
    """The handler that AllenNLP's commands install."""
    handler = signal.getsignal(signal.SIGTERM)
    install_sigterm_handler()
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.usefixtures("sigterm_handler")
@pytest.mark.parametrize("max_instances_in_memory", [None, 4])
def test_the_message_of_a_worker_process_is_the_last_line(
    tmp_path: Path, max_instances_in_memory: Optional[int], capfd: pytest.CaptureFixture
) -> None:
    prefix = write(tmp_path, [2, 3, 2])
    reader = WmtWordQeReader()
    vocab = Vocabulary.from_instances(reader.read(prefix))
    message = break_tags(prefix)
    with pytest.raises(WorkerError) as info:
        loader = MultiProcessDataLoader(
            reader,
            prefix,
            batch_size=2,
            num_workers=1,
            max_instances_in_memory=max_instances_in_memory,
            quiet=True,
        )
        loader.index_with(vocab)
        list(loader)
    assert str(info.value).startswith("worker raised DataFormatError(")
    last = last_line(info.value).strip()
    assert last == f"{DataFormatError.__module__}.DataFormatError: {message}"
    for worker in multiprocessing.active_children():
        worker.join(10)
    assert "Traceback" not in capfd.readouterr().err  # of the worker, after the report
