"""The token indexer `word_pieces`."""

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, TokenIndexer
from allennlp.nn.util import get_text_field_mask

from allennlp_nef.data.dataset_readers import conll_tags  # noqa: F401  # registers the reader
from allennlp_nef.pretrained.loading import archived_transformer, load_tokenizer
from tests.small_transformer import SAVE, pieces_of

WORDS = ["Sheldon", "met", "\u200b", "a", "é\u200b", "<EOS>", "n't"]


@pytest.fixture(params=SAVE)
def folder(request, tmp_path):
    SAVE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_pieces_are_those_of_the_tokenizer_for_the_whole_sentence(folder):
    tokenizer = load_tokenizer(str(folder))
    encoded = tokenizer(WORDS, is_split_into_words=True, add_special_tokens=False)
    counts = [encoded.word_ids().count(place) for place in range(len(WORDS))]
    pieces = encoded["input_ids"]
    if counts[2] == 0:
        pieces.insert(sum(counts[:2]), tokenizer.unk_token_id)
        counts[2] = 1
    tensors = pieces_of(folder, " ".join(WORDS))
    assert tensors["counts"].tolist() == [counts] and tensors["pieces"].tolist() == [pieces]


@pytest.mark.parametrize("sentences", [["a bc", ""], ["", ""]])
def test_mask_comes_from_the_counts(folder, sentences):
    tensors = pieces_of(folder, *sentences)
    assert tensors["counts"].shape == (2, len(sentences[0].split()))
    mask = get_text_field_mask({"word_pieces": tensors})
    assert mask.sum(1).tolist() == [len(text.split()) for text in sentences]


def test_words_of_byte_level_tokenizers_follow_a_blank(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import RobertaTokenizerFast

    vocabulary = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "a": 5, "Ġ": 6, "Ġa": 7}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("Ġ", "a")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    RobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(str(tmp_path))
    assert pieces_of(tmp_path, "a aa")["pieces"].tolist() == [[7, 7, 5]]


def test_a_tokenizer_that_cannot_be_loaded_is_an_error(tmp_path):
    for name in ("none", ""):
        with pytest.raises(ConfigurationError):
            load_tokenizer(str(tmp_path / name))


def test_a_slow_tokenizer_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(type(load_tokenizer(str(folder))), "is_fast", False)
    load_tokenizer.cache_clear()
    with pytest.raises(ConfigurationError):
        load_tokenizer(str(folder))
    load_tokenizer.cache_clear()


def test_an_archive_uses_its_own_tokenizer(tmp_path):
    SAVE["bert"](tmp_path / "transformer")
    params = {"type": "word_pieces", "model_name": "/none"}
    indexer = TokenIndexer.from_params(Params(dict(params)), serialization_dir=str(tmp_path))
    assert indexer.tokenizer.is_fast
    splitter = {"tokenizer": {"type": "punctuation", "pieces_of": "/none"}}
    reader = DatasetReader.from_params(
        Params({"type": "conll_tags", **splitter}), serialization_dir=str(tmp_path)
    )
    assert reader.tokenizer.pieces is indexer.tokenizer.backend_tokenizer
    training = {"serialization_dir": str(tmp_path), "local_rank": 0}
    assert archived_transformer(training) is None
    with pytest.raises(ConfigurationError):
        TokenIndexer.from_params(Params(dict(params)), **training)


def test_instances_share_a_tokenizer(folder):
    assert load_tokenizer(str(folder)) is load_tokenizer(str(folder))
