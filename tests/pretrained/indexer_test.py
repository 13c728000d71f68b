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
    encoded = tokenizer.encode(WORDS, is_pretokenized=True, add_special_tokens=False)
    counts = [encoded.word_ids.count(place) for place in range(len(WORDS))]
    pieces = encoded.ids
    if counts[2] == 0:
        pieces.insert(
            sum(counts[:2]),
            tokenizer.token_to_id({"bert": "[UNK]", "xlm_roberta": "<unk>"}[folder.name]),
        )
        counts[2] = 1
    tensors = pieces_of(folder, " ".join(WORDS))
    assert tensors["counts"].tolist() == [counts] and tensors["pieces"].tolist() == [pieces]


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("SHELDON MET AMY-LEE .", "Sheldon Met Amy-lee ."),
        ("12 A IS N'T", "12 A Is N't"),
        ("sheldon met amy", "sheldon met amy"),
        ("Sheldon met AMY", "Sheldon met AMY"),
        ("iPhone", "iPhone"),
    ],
)
def test_sentences_in_capitals_are_read_in_title_case(folder, sentence, read):
    expected, found = pieces_of(folder, read), pieces_of(folder, sentence, title_case=True)
    assert all(found[name].tolist() == expected[name].tolist() for name in ("counts", "pieces"))


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
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    monkeypatch.setattr(type(tokenizer), "is_fast", False)
    load_tokenizer.cache_clear()
    with pytest.raises(ConfigurationError):
        load_tokenizer(str(folder))
    load_tokenizer.cache_clear()


def test_an_archive_uses_its_own_tokenizer(tmp_path):
    SAVE["bert"](tmp_path / "transformer")
    params = {"type": "word_pieces", "model_name": "/none"}
    indexer = TokenIndexer.from_params(Params(dict(params)), serialization_dir=str(tmp_path))
    splitter = {"tokenizer": {"type": "punctuation", "pieces_of": "/none"}}
    reader = DatasetReader.from_params(
        Params({"type": "conll_tags", **splitter}), serialization_dir=str(tmp_path)
    )
    assert reader.tokenizer.pieces is indexer.tokenizer
    training = {"serialization_dir": str(tmp_path), "local_rank": 0}
    assert archived_transformer(training) is None
    with pytest.raises(ConfigurationError):
        TokenIndexer.from_params(Params(dict(params)), **training)


def test_instances_share_a_tokenizer(folder):
    assert load_tokenizer(str(folder)) is load_tokenizer(str(folder))


def test_truncation_and_padding_of_the_training_of_a_tokenizer_are_ignored(folder):
    from transformers import AutoTokenizer

    saved = AutoTokenizer.from_pretrained(str(folder))
    saved.backend_tokenizer.enable_truncation(3)
    saved.backend_tokenizer.enable_padding(length=4)
    saved.save_pretrained(str(folder))
    assert '"truncation": {' in (folder / "tokenizer.json").read_text("utf-8")
    load_tokenizer.cache_clear()
    tensors = pieces_of(folder, "a bcdefgh")
    assert tensors["counts"].sum() == tensors["pieces"].size(1) >= 8
    assert len(tensors["pieces"].unique()) >= 8
