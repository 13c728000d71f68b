"""What holds for `conll_tags` and `conllu_tags`."""

import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader

from allennlp_nef.data.metadata import TaggingMetadata
from tests.data.dataset_readers.reader_files import (
    SENTENCE_READERS,
    TAGS,
    sentence_of,
    tags_of,
    words_of,
    write,
)

pytestmark = pytest.mark.parametrize("name", list(SENTENCE_READERS))


def make(name, **options):
    return DatasetReader.from_params(Params({"type": name, **options}))


def test_instance_has_tokens_tags_and_metadata(name, tmp_path):
    reader = make(name)
    assert type(reader) is SENTENCE_READERS[name]
    path = write(tmp_path, name, [3, 1])
    first, second = reader.read(path)
    assert set(first.fields) == {"tokens", "tags", "metadata"}
    assert [token.text for token in first["tokens"]] == words_of(0, 3)
    assert first["tags"].labels == tags_of(name, 0, 3)
    metadata = second["metadata"].metadata
    assert isinstance(metadata, TaggingMetadata)
    assert (metadata.tokens, metadata.tags) == (words_of(1, 1), tags_of(name, 1, 1))
    assert metadata.source is None and metadata.sentence.lines == [5]
    expected = {"tokens": metadata.tokens, "source": None, "tags": metadata.tags}
    assert metadata.to_json() == expected


def test_options_are_used(name, tmp_path):
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


def test_text_to_instance_takes_words_and_perhaps_tags(name):
    reader = make(name, max_tokens=1)  # which is about files
    instance = reader.text_to_instance(["a", "b"], list(TAGS[name]))
    assert instance["tags"].labels == list(TAGS[name])
    assert instance["metadata"].metadata.sentence is None
    bare = reader.text_to_instance(["a", "b"])
    assert set(bare.fields) == {"tokens", "metadata"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([],), "tokens: expected a list of words, got []"),
        ((None,), "tokens: expected a list of words, got None"),
        ((["a", ""],), "tokens: expected a word, got an empty one"),
        ((["a"], []), "tags: expected 1 tags (one a word), got 0"),
        ((["a"], "O"), "tags: expected a list of tags, got 'O'"),
    ],
)
def test_text_to_instance_refuses_bad_parts(name, arguments, message):
    with pytest.raises(ValueError) as info:
        make(name).text_to_instance(*arguments)
    assert str(info.value) == message


def test_padding_symbol_is_a_word(name):
    """Taken for padding, it would make the sentence shorter than its tags."""
    words = ["a", "@@PADDING@@", "@@UNKNOWN@@"]
    reader = make(name)
    instance = reader.text_to_instance(words)
    reader.apply_token_indexers(instance)
    instance.index_fields(Vocabulary.from_instances([instance]))
    assert 0 not in instance.as_tensor_dict()["tokens"]["tokens"]["tokens"]
    assert instance["metadata"].metadata.tokens == words
