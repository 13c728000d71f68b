import json
import pickle

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.nn.util import get_text_field_mask

from allennlp_nef.pretrained import load_tokenizer
from tests.small_transformer import SAVE

WORDS = ["Sheldon", "met", "\u200b", "a", "é\u200b", "<EOS>", "n't"]


@pytest.fixture(params=sorted(SAVE))
def folder(request, tmp_path):
    SAVE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def make(folder):
    return TokenIndexer.from_params(Params({"type": "word_pieces", "model_name": str(folder)}))


def tensors_of(indexer, *sentences):
    fields = [TextField([Token(word) for word in words], {"a": indexer}) for words in sentences]
    batch = Batch([Instance({"tokens": field}) for field in fields])
    batch.index_instances(Vocabulary.from_instances(batch))
    return batch.as_tensor_dict()["tokens"]


def test_pieces_are_those_of_the_tokenizer_for_the_whole_sentence(folder):
    tokenizer = load_tokenizer(str(folder))
    encoded = tokenizer(WORDS, is_split_into_words=True, add_special_tokens=False)
    words = [encoded.word_ids().count(place) for place in range(len(WORDS))]
    expected = encoded["input_ids"]
    if words[2] == 0:  # transformers before 5 have none for XLM-R either
        expected.insert(sum(words[:2]), tokenizer.unk_token_id)
        words[2] = 1
    (counts,), (pieces,) = tensors_of(make(folder), WORDS)["a"].values()
    assert (counts.tolist(), pieces.tolist()) == (words, expected)


def test_padding_has_no_pieces_and_the_mask_is_that_of_the_words(folder):
    tensors = tensors_of(make(folder), WORDS, WORDS[:2])
    assert tensors["a"]["counts"][1, 2:].sum() == 0
    assert get_text_field_mask(tensors).tolist() == [[True] * 7, [True] * 2 + [False] * 5]
    assert tensors["a"]["pieces"].size(1) == tensors["a"]["counts"].sum(-1).max()


def test_indexer_is_pickled_and_sentences_may_be_empty(folder):
    indexer = pickle.loads(pickle.dumps(make(folder)))
    assert tensors_of(indexer, WORDS, [])["a"]["counts"][1].tolist() == [0] * 7


@pytest.mark.parametrize("exists", [False, True])
def test_error_names_the_option_in_one_line(exists, tmp_path):
    folder = tmp_path / "none"
    if exists:
        folder.mkdir()  # empty
    with pytest.raises(ConfigurationError, match="model_name: expected the folder of") as caught:
        make(folder)
    assert len(str(caught.value).splitlines()) == 1 and repr(str(folder)) in str(caught.value)


def test_tokenizer_without_a_layout_for_pairs_is_an_error(tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(str(tmp_path / "b"))
    with pytest.raises(ConfigurationError, match="whose tokenizer joins two sentences"):
        make(tmp_path / "b")


def test_words_of_byte_level_tokenizers_follow_a_blank(tmp_path):
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "Ġ", "Ġa"]
    (tmp_path / "vocab.json").write_text(
        json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8"
    )
    (tmp_path / "merges.txt").write_text("#version: 0.2\nĠ a\n", encoding="utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    assert tensors_of(make(tmp_path), ["a", "aa"])["a"]["pieces"].tolist() == [[7, 7, 5]]
