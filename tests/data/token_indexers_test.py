"""Token indexers: affixes, cases of words, word pieces."""

import json
import pickle

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.affixes import CASES, case_of
from allennlp_nef.data.token_indexers import AffixesIndexer
from allennlp_nef.pretrained import load_tokenizer
from tests.small_transformer import SAVE


@pytest.mark.parametrize(
    "case, words",
    [
        ("lower", "a word jean-paul l' straße ñandú e\u0301te\u0301 d.c."),
        ("upper", "EU U.S. ÉTÉ GROSSE E\u0301TE\u0301 AT&T ΕΕ"),
        ("capitalized", "A É E\u0301 A. Word Éte\u0301 Mc- \u01c5ep Ünder"),
        ("mixed", "McDonald iPhone eBay Jean-Paul O'Neill 'Tis aB ABc"),
        ("number", "1 1,000.5 -3 10% 1\xa0000 ١٢ (2) ²"),
        ("alphanumeric", "A4 1st mp3 2中 x-1 1990s"),
        ("other", " . -- ... \u4e2d\u6587 \u0639\u0631\u0628\u064a \U00020000 \U0001f600"),
    ],
)
def test_case_of_a_word(case, words):
    assert {word: case_of(word) for word in words.split(" ")} == dict.fromkeys(
        words.split(" "), case
    )


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_any_text_has_a_case(word):
    assert case_of(word) in CASES


def make(**options):
    return TokenIndexer.from_params(Params({"type": "affixes", **options}))


def instance_of(words, **indexers):
    return Instance({"tokens": TextField([Token(word) for word in words], indexers)})


def vocabulary(indexer, *words, **options):
    return Vocabulary.from_instances([instance_of(words, a=indexer)], **options)


def tensors_of(indexer, vocab, *sentences):
    batch = Batch([instance_of(words, a=indexer) for words in sentences])
    batch.index_instances(vocab)
    return batch.as_tensor_dict()["tokens"]["a"]


def affixes_of(indexer, vocab, word, side):
    """The affixes that the indices of a word stand for, one a length."""
    (row,) = tensors_of(indexer, vocab, [word])[{"prefix": "prefixes", "suffix": "suffixes"}[side]][
        0
    ]
    return [
        vocab.get_token_from_index(index, f"affixes_{side}_{length}")
        for length, index in enumerate(row.tolist(), 1)
    ]


@pytest.mark.parametrize(
    "word, prefixes, suffixes",
    [
        ("tagging", ["t", "ta", "tag", "tagg"], ["g", "ng", "ing", "ging"]),
        ("the", ["t", "th", "the", "the"], ["e", "he", "the", "the"]),
        (".", ["."] * 4, ["."] * 4),
        ("\u4e2d\u6587", ["\u4e2d", *["\u4e2d\u6587"] * 3], ["\u6587", *["\u4e2d\u6587"] * 3]),
        # Characters beyond the 16 bits are one character each, and combining ones are characters.
        ("\U00020000a", ["\U00020000", *["\U00020000a"] * 3], ["a", *["\U00020000a"] * 3]),
        ("e\u0301", ["e", *["e\u0301"] * 3], ["\u0301", *["e\u0301"] * 3]),
        ("1 000", ["1", "1 ", "1 0", "1 00"], ["0", "00", "000", " 000"]),
    ],
)
def test_words_have_prefixes_and_suffixes(word, prefixes, suffixes):
    indexer = make()
    assert isinstance(indexer, AffixesIndexer)
    vocab = vocabulary(indexer, word, "other")
    assert affixes_of(indexer, vocab, word, "prefix") == prefixes
    assert affixes_of(indexer, vocab, word, "suffix") == suffixes


def test_affixes_that_the_vocabulary_lacks_are_unknown():
    indexer = make()
    vocab = vocabulary(indexer, "abcd", "abce")
    unknown = "@@UNKNOWN@@"
    assert affixes_of(indexer, vocab, "abxx", "prefix") == ["a", "ab", unknown, unknown]
    assert affixes_of(indexer, vocab, "xxcd", "suffix") == ["d", "cd", unknown, unknown]
    # A known prefix of length 2 is no known word of length 2: each length has its table.
    assert affixes_of(indexer, vocab, "ab", "prefix") == ["a", "ab", unknown, unknown]
    assert affixes_of(indexer, vocab, "", "prefix") == [unknown] * 4


class TestOptions:
    def test_case_adds_an_index(self):
        assert "case" not in tensors_of(make(), vocabulary(make(), "a"), ["a"])
        indexer = make(case=True)
        words = ["word", "EU", "Word", "McX", "12", "x1", "."]
        tensors = tensors_of(indexer, vocabulary(indexer, "a"), words, ["a"])
        names = ["padding", *CASES]
        assert [names[index] for index in tensors["case"][0].tolist()] == list(CASES)
        assert tensors["case"][1].tolist() == [1] + [0] * 6

    @pytest.mark.parametrize("max_length", [0, 2.5, True])
    def test_bad_max_length_is_refused(self, max_length):
        with pytest.raises(ConfigurationError, match="max_length: expected an integer of at least"):
            AffixesIndexer(max_length=max_length)


@pytest.mark.parametrize("case", [False, True])
class TestBatches:
    def test_padding_is_0(self, case):
        indexer = make(case=case)
        vocab = vocabulary(indexer, "ab", "c")
        tensors = tensors_of(indexer, vocab, ["ab", "x", "c"], ["c"])
        assert set(tensors) == {"prefixes", "suffixes", *(["case"] if case else [])}
        for name in ("prefixes", "suffixes"):
            assert tensors[name].dtype is torch.long
            assert tensors[name].shape == (2, 3, 4)
            assert (tensors[name][1, 1:] == 0).all()
            assert (tensors[name][0] > 0).all()
            assert torch.equal(tensors[name][1, 0], tensors[name][0, 2])

    @pytest.mark.parametrize("sentences", [[[]], [[], []], [["a"], []]])
    def test_fields_without_tokens_are_padding(self, case, sentences):
        indexer = make(case=case)
        vocab = vocabulary(indexer, "a")
        tensors = tensors_of(indexer, vocab, *sentences)
        longest = max(map(len, sentences))
        assert (
            tensors["prefixes"].shape == tensors["suffixes"].shape == (len(sentences), longest, 4)
        )
        if case:
            assert tensors["case"].shape == (len(sentences), longest)

    def test_indexer_can_be_pickled(self, case):
        indexer = make(case=case, max_length=2)
        copied = pickle.loads(pickle.dumps(indexer))
        vocab = vocabulary(indexer, "ab", "C")
        expected = tensors_of(indexer, vocab, ["ab", "C"])
        found = tensors_of(copied, vocab, ["ab", "C"])
        assert {k: v.tolist() for k, v in found.items()} == {
            k: v.tolist() for k, v in expected.items()
        }


WORDS = ["Sheldon", "met", "\u200b", "a", "é\u200b", "<EOS>", "n't"]


@pytest.fixture(params=sorted(SAVE))
def folder(request, tmp_path):
    SAVE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def word_pieces(folder):
    return TokenIndexer.from_params(Params({"type": "word_pieces", "model_name": str(folder)}))


def tensors_of_pieces(indexer, *sentences):
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
    (counts,), (pieces,) = tensors_of_pieces(word_pieces(folder), WORDS)["a"].values()
    assert (counts.tolist(), pieces.tolist()) == (words, expected)


@pytest.mark.parametrize("exists", [False, True])
def test_error_names_the_option_in_one_line(exists, tmp_path):
    folder = tmp_path / "none"
    if exists:
        folder.mkdir()  # empty
    with pytest.raises(ConfigurationError, match="model_name: expected the folder of") as caught:
        word_pieces(folder)
    assert len(str(caught.value).splitlines()) == 1 and repr(str(folder)) in str(caught.value)


def test_tokenizer_without_a_layout_for_pairs_is_an_error(tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(str(tmp_path / "b"))
    with pytest.raises(ConfigurationError, match="whose tokenizer joins two sentences"):
        word_pieces(tmp_path / "b")


def test_words_of_byte_level_tokenizers_follow_a_blank(tmp_path):
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "Ġ", "Ġa"]
    (tmp_path / "vocab.json").write_text(
        json.dumps({piece: i for i, piece in enumerate(pieces)}), encoding="utf-8"
    )
    (tmp_path / "merges.txt").write_text("#version: 0.2\nĠ a\n", encoding="utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "roberta"}')
    assert tensors_of_pieces(word_pieces(tmp_path), ["a", "aa"])["a"]["pieces"].tolist() == [
        [7, 7, 5]
    ]
