"""What holds for every reader: limits, worker processes, distributed training, the padding symbol, any bytes."""

import gzip
import json
import os
import threading
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader, SimpleDataLoader
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.dataset_readers.base import SentenceReader
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError
from tests.data.reader_files import PROPERTY, line_of, make, read, warnings_of
from tests.qe.qe_files import DEVELOPMENT, development_row, good_files

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def conll(words):
    return "".join(f"{word} O\n" for word in words) + "\n"


def conllu(words):
    rows = [[str(i), word, "_", "X", "_", "_", str(i - 1), "x", "_", "_"] for i, word in words]
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def numbered(write):
    return lambda words: write(list(enumerate(words, 1)))


def tree(words):
    first, *rest = words
    return f"(1 (1 {first}) {tree(rest)})" if rest else f"(1 {first})"


# For each reader, how the words of a sentence are written: with the same label in all sentences, and an empty line.
READERS = {
    "conll_tags": conll,
    "conllu_tags": numbered(conllu),
    "conllu_trees": numbered(conllu),
    "labeled_sentences": lambda words: f"A\t{' '.join(words)}\n\n",
    "labeled_trees": lambda words: f"{tree(words)}\n\n",
    "sentence_pairs": lambda words: (
        json.dumps({"sentence1": " ".join(words), "sentence2": words[0], "gold_label": "a"})
        + "\n\n"
    ),
}
FOLDERS = {"a": [2, 1], "b": [3, 9]}
every_reader = pytest.mark.parametrize("name", list(READERS))


def write(folder, name, lengths):
    """A file with sentences of these lengths. Sentence i has the words `wi_0`, `wi_1` and so on."""
    folder.mkdir(exist_ok=True)
    sentences = [[f"w{i}_{k}" for k in range(length)] for i, length in enumerate(lengths)]
    path = folder / ("x.jsonl" if name == "sentence_pairs" else "x.txt")
    path.write_text("".join(map(READERS[name], sentences)), encoding="utf-8")
    return str(path)


def words_read(metadata):
    """The words of a record, or of the first sentence of a pair."""
    return getattr(metadata, "first", metadata)["words"]


def number_of(metadata):
    return int(words_read(metadata)[0].split("_")[0][1:])


def numbers_of(instances):
    return [number_of(instance["metadata"].metadata) for instance in instances]


@every_reader
@pytest.mark.parametrize(
    "options, numbers, num_warnings",
    [
        ({}, [0, 1, 2, 3, 4, 5], 0),
        ({"max_tokens": 8}, [0, 2, 4, 5], 1),
        ({"max_tokens": 8, "max_instances": 2}, [0, 2], 1),
    ],
)
def test_max_tokens_leaves_out_longer_sentences(
    name, tmp_path, caplog, options, numbers, num_warnings
):
    path = write(tmp_path, name, [2, 9, 8, 10, 1, 1])
    assert numbers_of(make(name, **options).read(path)) == numbers
    assert len(warnings_of(caplog)) == num_warnings


@every_reader
def test_lists_patterns_and_compressed_files_are_read(name, tmp_path):
    files = [write(tmp_path / folder, name, lengths) for folder, lengths in FOLDERS.items()]
    Path(f"{files[1]}.gz").write_bytes(gzip.compress(Path(files[1]).read_bytes()))
    os.remove(files[1])
    ending = Path(files[0]).suffix
    pattern = str(tmp_path / f"*/x{ending}*")
    for path in (pattern, [files[0], f"{files[1]}.gz"], [[files[0]], str(tmp_path / "b/*")]):
        assert numbers_of(make(name, max_tokens=8).read(path)) == [0, 1, 0]
    (tmp_path / "b" / f"z{ending}").write_text("\n")
    with pytest.raises(DataFormatError) as info:
        list(make(name).read([files[0], str(tmp_path / "b/*")]))
    assert line_of(str(info.value), tmp_path / "b" / f"z{ending}") == 1
    with pytest.raises(FileNotFoundError):
        list(make(name).read(str(tmp_path / "c/*")))


@every_reader
def test_max_tokens_that_leaves_no_sentence_is_an_error(name, tmp_path):
    path = write(tmp_path, name, [2, 3])
    with pytest.raises(DataFormatError) as info:
        list(make(name, max_tokens=1).read(path))
    line_of(str(info.value), path)


@every_reader
@pytest.mark.parametrize("encoding", ["utf-9", "rot13"])
def test_an_encoding_that_does_not_exist_is_an_error(name, encoding):
    with pytest.raises(ConfigurationError):
        make(name, encoding=encoding)


def test_a_sentence_without_words_is_an_error():
    class Reader(SentenceReader):
        def examples(self, file_path):
            yield from (Sentence(["a"]), Sentence([]))

    with pytest.raises(DataFormatError, match="x.txt: sentence 2: expected words"):
        list(Reader().read("x.txt"))


@every_reader
def test_a_pipe_loses_no_sentence(name, tmp_path):
    """Such as `<(zcat x.conll.gz)`. It can be read only once."""
    file = Path(write(tmp_path, name, [3] * 2000))
    pipe = tmp_path / "pipe" / file.name
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[file.read_bytes()], daemon=True)
    writer.start()
    assert numbers_of(make(name).read(str(pipe))) == list(range(2000))


@pytest.mark.parametrize("name", ["conll_tags", "conllu_tags", "conllu_trees"])
def test_columns_of_a_pipe_cannot_be_copied(name, tmp_path):
    os.mkfifo(tmp_path / "x")
    record = Sentence(["a"], path=str(tmp_path / "x"), lines=[3])
    with pytest.raises(DataFormatError, match=f"{tmp_path}/x:3: "):
        make(name).reread(record)


@every_reader
def test_workers_share_the_sentences(name, tmp_path, caplog):
    path = write(tmp_path, name, [2, 9, 2, 2, 2, 9, 2, 2])
    shards = []
    for worker in range(2):
        reader = make(name, max_tokens=8)
        reader._set_worker_info(WorkerInfo(2, worker))
        shards.append(numbers_of(reader.read(path)))
    assert shards == [[0, 3, 6], [2, 4, 7]]
    assert len(warnings_of(caplog)) == 1


@every_reader
def test_processes_share_the_sentences(name, tmp_path, monkeypatch):
    path = write(tmp_path, name, [2] * 7)
    monkeypatch.setattr("allennlp.common.util.is_distributed", lambda: True)
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)
    shards = []
    for rank in range(2):
        monkeypatch.setattr("torch.distributed.get_rank", lambda rank=rank: rank)
        shards.append(numbers_of(make(name).read(path)))
    assert shards == [[0, 2, 4, 6], [1, 3, 5]]


def loader_of(name, path, num_workers):
    options = {"batch_size": 2, "max_instances_in_memory": 4, "quiet": True}
    return MultiProcessDataLoader(make(name), path, num_workers=num_workers, **options)


@every_reader
def test_two_worker_processes_give_each_instance_once(name, tmp_path):
    path = write(tmp_path, name, [2, 3, 1, 4, 2, 5, 2, 3, 3])
    loader = loader_of(name, path, 2)
    loader.index_with(Vocabulary.from_instances(make(name).read(path)))
    batches = [batch["metadata"] for batch in loader]
    assert sorted(number_of(item) for batch in batches for item in batch) == list(range(9))


def test_the_error_of_a_worker_process_has_file_and_line(tmp_path):
    path = write(tmp_path, "conll_tags", [2, 3, 2])
    loader = loader_of("conll_tags", path, 1)
    loader.index_with(Vocabulary.from_instances(make("conll_tags").read(path)))
    Path(path).write_text("a O\n\nb\n")
    with pytest.raises(WorkerError, match=f"{path}:3: "):
        list(loader)


@every_reader
def test_token_indexers_and_namespaces_are_used(name, tmp_path):
    indexer = {"type": "single_id", "namespace": "a"}
    reader = make(name, token_indexers={"s": indexer}, label_namespace="other_labels")
    instances = list(reader.read(write(tmp_path, name, [2, 1])))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("a") == 3 + 2
    assert vocab.get_vocab_size("other_labels") == 1
    (batch,) = SimpleDataLoader(instances, 2, vocab=vocab)
    assert set(batch[reader.text_fields[0]]) == {"s"}


@every_reader
def test_padding_symbol_is_a_word(name, tmp_path):
    """As a padding symbol, it would make the sentence shorter than its tags."""
    text = READERS[name](["a", "@@PADDING@@", "@@UNKNOWN@@"])
    ending = "jsonl" if name == "sentence_pairs" else "txt"
    (instance,) = read(make(name), tmp_path / f"x.{ending}", text)
    instance.index_fields(Vocabulary.from_instances([instance]))
    field = make(name).text_fields[0]
    assert 0 not in instance.as_tensor_dict()[field]["tokens"]["tokens"]
    assert words_read(instance["metadata"].metadata)[1] == "@@PADDING@@"


def blocks(path, number, separator=b"\n\n"):
    return separator.join(path.read_bytes().split(separator)[:number]) + separator


NER = blocks(FIXTURES / "ner/train.conll", 4)
POS = blocks(FIXTURES / "pos/train.conllu", 3)
PAIRS = blocks(FIXTURES / "sentences/pairs_train.txt", 4, b"\n")
QUESTIONS = blocks(FIXTURES / "sentences/questions_train.txt", 3, b"\n")
REVIEWS = blocks(FIXTURES / "sentences/reviews_train.txt", 3, b"\n")
TREES = blocks(FIXTURES / "sentences/pairs_train.conllu", 6)
SNLI = b'{"sentence1": "A b", "sentence2": "c", "gold_label": "x"}\n{"sentence1": "d", "sentence2": "e f"}\n'
TAGGED = (
    b'{"tokens": ["A", "b"], "tags": ["B-X", null]}\n{"tokens": ["c"], "tags": ["I"], "x": 1}\n'
)
GOOD = {f"x.{ending}": text.encode() for ending, text in good_files().items()}
SPANS = (DEVELOPMENT + 2 * development_row()).encode()
ESA = (
    b'{"source": "a", "target": "x y", "omission": null, "score": 90, '
    b'"spans": [{"start": 0, "end": 1, "severity": "minor"}]}\n'
)
# A reader, and files that it reads: names and contents. Several files have a common prefix, or the first one is read.
TARGETS = {
    "conll_tags": (make("conll_tags"), {"x.conll": NER}),
    "conll_tags, tabs": (
        make("conll_tags", tag_scheme=None),
        {"x.conll": NER.replace(b" ", b"\t")},
    ),
    "conll_tags, JSON": (make("conll_tags"), {"x.jsonl": TAGGED}),
    "conllu_tags": (make("conllu_tags"), {"x.conllu": POS}),
    "conllu_trees": (make("conllu_trees", column="feats"), {"x.conllu": TREES}),
    "labeled_sentences": (make("labeled_sentences", layout="trec"), {"x.txt": QUESTIONS}),
    "labeled_trees": (make("labeled_trees"), {"x.txt": REVIEWS}),
    "sentence_pairs": (make("sentence_pairs", gold="score"), {"x.txt": PAIRS, "x.conllu": TREES}),
    "sentence_pairs, SNLI": (make("sentence_pairs"), {"x.jsonl": SNLI}),
    "wmt_word_qe": (
        make("wmt_word_qe", eos=True, sentence_scores=True),
        {**GOOD, "x.hter": b"0.5\n0\n1\n"},
    ),
    "wmt_word_qe, gaps": (make("wmt_word_qe", tagged="target_and_gaps"), GOOD),
    "wmt_word_qe, source": (make("wmt_word_qe", tagged="source"), GOOD),
    "wmt_word_qe, spans": (make("wmt_word_qe", severities=True), {"x.tsv": SPANS}),
    "wmt_word_qe, ESA": (make("wmt_word_qe", sentence_scores=True), {"x.jsonl": ESA}),
}
ODD = [
    *"\x00\x01\t\n\x0b\x0c\r\x1c\x7f\x85\xa0\xad\u0301\u200b\u2028\u3000\ufeff\ufffd -_#/|:=.()\"'",
    *["\r\n", "\n\n", " \n", "\t\t", "\n \n", "-1", "0", "1", "1e999", "nan", "null", "{}", "[1]"],
    *["B-", "I-X", "-DOCSTART-", "-X-", "1-2", "1.1", "9" * 30, "(1 a)", "(1", ")"],
]
CHANGES = st.tuples(
    st.floats(0, 1),
    st.sampled_from([0, 0, 1, 2, 9, 40, 10**6]),
    st.sampled_from([odd.encode("utf-8") for odd in ODD]) | st.binary(max_size=3) | st.just(None),
)


def changed(data, changes):
    """Some bytes of which parts are left out, replaced or, for None, repeated."""
    for place, length, new in changes:
        start = int(place * len(data))
        part = data[start : start + length]
        data = data[:start] + (2 * part if new is None else new) + data[start + length :]
    return data


@pytest.mark.parametrize("target", TARGETS)
@settings(PROPERTY, max_examples=150)
@given(changes=st.lists(CHANGES, max_size=4), kind=st.integers(0, 5))
def test_any_bytes_are_instances_or_an_error_with_file_and_line(target, tmp_path, changes, kind):
    reader, files = TARGETS[target]
    if target == "sentence_pairs":
        reader.parses = str(tmp_path)
    for number, (name, data) in enumerate(files.items()):
        is_changed = number == kind % len(files)
        (tmp_path / name).write_bytes(changed(data, changes) if is_changed else data)
    paths = [tmp_path / name for name in files]
    try:
        instances = list(reader.read(str(tmp_path / "x" if len(files) > 2 else paths[0])))
    except DataFormatError as error:
        line_of(str(error), *paths)
        return
    vocab = Vocabulary.from_instances(instances)
    for instance in instances:
        instance.index_fields(vocab)
        instance.as_tensor_dict()
        assert all(len(token.text) for field in reader.text_fields for token in instance[field])
    if target.startswith("conllu"):
        records = [instance["metadata"].metadata for instance in instances]
        text = "".join(reader.reread(record).with_columns({}) for record in records)
        assert text.encode("utf-8") == paths[0].read_bytes().removeprefix(b"\xef\xbb\xbf")
