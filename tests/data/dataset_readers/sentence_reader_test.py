"""What `conll_tags` and `conllu_tags` have in common."""

import pickle

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from allennlp_nef.data.formats import DataFormatError
from allennlp_nef.data.metadata import TaggingMetadata
from tests.data.dataset_readers.sentence_files import (
    READERS,
    TAGS,
    sentence_of,
    tags_of,
    warnings_of,
    words_of,
    write,
)

pytestmark = pytest.mark.parametrize("name", list(READERS))


def make(name, **options):
    return DatasetReader.from_params(Params({"type": name, **options}))


def test_fields(name, tmp_path):
    reader = make(name)
    assert type(reader) is READERS[name]
    path = write(tmp_path, name, [3, 1])
    first, second = reader.read(path)
    assert set(first.fields) == {"tokens", "tags", "metadata"}
    assert [token.text for token in first["tokens"]] == words_of(0, 3)
    assert first["tags"].labels == tags_of(name, 0, 3)
    metadata = second["metadata"].metadata
    assert isinstance(metadata, TaggingMetadata)
    assert (metadata.tokens, metadata.tags) == (words_of(1, 1), tags_of(name, 1, 1))
    assert (metadata.source, metadata.keep_trace) == (None, False)
    assert metadata.sentence.lines == [5]
    expected = {"tokens": metadata.tokens, "source": None, "tags": metadata.tags}
    assert metadata.to_json() == expected


def test_batch(name, tmp_path):
    instances = list(make(name).read(write(tmp_path, name, [3, 1])))
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("tokens") == 4 + 2
    labels = vocab.get_token_to_index_vocabulary("labels")
    assert set(labels) == set(TAGS[name])
    (batch,) = SimpleDataLoader(instances, 2, vocab=vocab)
    words = batch["tokens"]["tokens"]["tokens"]
    assert words.shape == (2, 3)
    assert words[0].tolist() == [vocab.get_token_index(word) for word in words_of(0, 3)]
    assert words[1, 1:].tolist() == [0, 0]
    assert batch["tags"].dtype is torch.long
    assert batch["tags"][0].tolist() == [labels[tag] for tag in tags_of(name, 0, 3)]
    assert batch["tags"][1].tolist() == [labels[tags_of(name, 1, 1)[0]], 0, 0]


def test_options(name, tmp_path):
    reader = make(
        name,
        token_indexers={"s": {"type": "single_id", "namespace": "a"}},
        label_namespace="other_tags",
        max_tokens=2,
        max_instances=2,
    )
    instances = list(reader.read(write(tmp_path, name, [3, 2, 1, 1])))
    assert list(map(sentence_of, instances)) == [1, 2]
    vocab = Vocabulary.from_instances(instances)
    assert vocab.get_vocab_size("a") == 3 + 2
    assert vocab.get_vocab_size("other_tags") == 2
    (batch,) = SimpleDataLoader(instances, 2, vocab=vocab)
    assert set(batch["tokens"]) == {"s"}


def test_an_unlabelled_file(name, tmp_path, caplog):
    path = write(tmp_path, name, [3, 1, 2], tagged=False)
    instances = list(make(name).read(path))
    assert len(instances) == 3
    for instance in instances:
        assert set(instance.fields) == {"tokens", "metadata"}
        assert instance["metadata"].metadata.tags is None
    (warning,) = warnings_of(caplog)
    assert warning.startswith(f"{path} has no ")
    assert ": the sentences are unlabelled" in warning


def test_one_warning_for_all_workers(name, tmp_path, caplog):
    path = write(tmp_path, name, [3, 1, 2], tagged=False)
    for worker in range(3):
        reader = make(name)
        reader._set_worker_info(WorkerInfo(3, worker))
        assert list(map(sentence_of, reader.read(path))) == [worker]
    assert len(warnings_of(caplog)) == 1


def test_max_tokens(name, tmp_path, caplog):
    path = write(tmp_path, name, [2, 9, 8, 10, 1])
    instances = make(name, max_tokens=8).read(path)
    assert list(map(sentence_of, instances)) == [0, 2, 4]
    assert warnings_of(caplog) == ["Left out 2 of 5 sentences: they have more than 8 tokens."]


def test_max_tokens_leaves_none(name, tmp_path):
    path = write(tmp_path, name, [2, 3])
    message = f"{path}: expected some sentence of at most 1 tokens (max_tokens), got none among 2"
    with pytest.raises(DataFormatError) as info:
        list(make(name, max_tokens=1).read(path))
    assert str(info.value) == message


def test_encoding(name, tmp_path):
    path = write(tmp_path, name, [2])
    with open(path, "r+", encoding="utf-8") as file:
        text = file.read().replace("w0_1", "Böll")
    with open(path, "w", encoding="latin-1") as file:
        file.write(text)
    (instance,) = make(name, encoding="latin-1").read(path)
    assert [token.text for token in instance["tokens"]] == ["w0_0", "Böll"]
    with pytest.raises(DataFormatError, match=":2: expected utf-8, got byte 0xf6 as byte "):
        list(make(name).read(path))


def test_a_byte_order_mark_is_no_part_of_a_word(name, tmp_path):
    path = write(tmp_path, name, [2])
    with open(path, "rb+") as file:
        data = file.read()
        file.seek(0)
        file.write(b"\xef\xbb\xbf" + data)
    (instance,) = make(name).read(path)
    assert [token.text for token in instance["tokens"]] == words_of(0, 2)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"encoding": "utf-9"}, "encoding: expected one that Python knows, got 'utf-9'"),
        ({"max_tokens": 0}, "max_tokens: expected at least 1 or null, got 0"),
    ],
)
def test_options_that_are_refused(name, options, message):
    with pytest.raises(ConfigurationError, match=message):
        make(name, **options)


def test_text_to_instance(name):
    reader = make(name, max_tokens=1)  # which is about files
    instance = reader.text_to_instance(["a", "b"], list(TAGS[name]), keep_trace=True)
    assert instance["tags"].labels == list(TAGS[name])
    metadata = instance["metadata"].metadata
    assert (metadata.keep_trace, metadata.sentence) == (True, None)
    assert set(reader.text_to_instance(["a", "b"]).fields) == {"tokens", "metadata"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([],), "tokens: expected a list of words, got []"),
        (("ab",), "tokens: expected a list of words, got 'ab'"),
        ((None,), "tokens: expected a list of words, got None"),
        ((["a", ""],), "tokens: expected words, got ['a', '']"),
        ((["a"], []), "tags: expected 1 tags (one a word), got 0"),
        ((["a"], ["O", "O"]), "tags: expected 1 tags (one a word), got 2"),
        ((["a"], "O"), "tags: expected a list of tags, got 'O'"),
    ],
)
def test_text_to_instance_refuses(name, arguments, message):
    with pytest.raises(ValueError) as info:
        make(name).text_to_instance(*arguments)
    assert str(info.value) == message


def test_a_word_like_the_padding_symbol_is_a_word(name):
    """It would be taken for padding, and the sentence would be shorter than its tags."""
    words = ["a", "@@PADDING@@", "@@UNKNOWN@@"]
    reader = make(name)
    instance = reader.text_to_instance(words)
    reader.apply_token_indexers(instance)
    instance.index_fields(Vocabulary.from_instances([instance]))
    assert 0 not in instance.as_tensor_dict()["tokens"]["tokens"]["tokens"]
    assert instance["metadata"].metadata.tokens == words


def test_indexers_are_not_sent_with_instances(name, tmp_path):
    reader = make(name)
    reader._set_worker_info(WorkerInfo(1, 0))
    instance = next(iter(reader.read(write(tmp_path, name, [2]))))
    assert instance["tokens"]._token_indexers is None
    copied = pickle.loads(pickle.dumps(instance))
    reader.apply_token_indexers(copied)
    assert set(copied["tokens"].token_indexers) == {"tokens"}
    assert copied["tags"].labels == instance["tags"].labels
    assert copied["metadata"].metadata == instance["metadata"].metadata


def test_a_sentence_of_20000_tokens(name, tmp_path):
    (instance,) = make(name).read(write(tmp_path, name, [20000]))
    assert len(instance["tokens"]) == len(instance["tags"]) == 20000


@pytest.mark.parametrize("problem", ["missing", "folder", "empty"])
def test_no_sentences(name, tmp_path, problem):
    path = tmp_path / "x"
    if problem == "folder":
        path.mkdir()
    elif problem == "empty":
        path.write_text("\n")
    expected = {
        "missing": "expected a file, got no such file",
        "folder": "expected a file, got a folder",
        "empty": "expected at least one sentence, got an empty file",
    }
    line = ":1" if problem == "empty" else ""
    with pytest.raises(DataFormatError) as info:
        list(make(name).read(str(path)))
    assert str(info.value) == f"{path}{line}: {expected[problem]}"
