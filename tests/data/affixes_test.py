"""The indexer of affixes and cases of words."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Batch, Instance, Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.affixes import CASES, AffixesIndexer, case_of
from tests.data.reader_files import PROPERTY


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
    assert {case_of(word) for word in words.split(" ")} == {case}


@PROPERTY
@given(st.text())
def test_any_text_has_a_case(word):
    assert case_of(word) in CASES


def make(**options):
    return TokenIndexer.from_params(Params({"type": "affixes", **options}))


def instance_of(words, indexer):
    return Instance({"tokens": TextField([Token(word) for word in words], {"a": indexer})})


def vocabulary(indexer, *words, **options):
    return Vocabulary.from_instances([instance_of(words, indexer)], **options)


def tensors_of(indexer, vocab, *sentences):
    batch = Batch([instance_of(words, indexer) for words in sentences])
    batch.index_instances(vocab)
    return batch.as_tensor_dict()["tokens"]["a"]


def affixes_of(indexer, vocab, word, side):
    """The affixes that the indices of a word stand for, one for each length."""
    tensors = tensors_of(indexer, vocab, [word])
    rows = tensors["prefixes" if side == "prefix" else "suffixes"]
    return [
        vocab.get_token_from_index(index, f"affixes_{side}_{length}")
        for length, index in enumerate(rows[0, 0].tolist(), 1)
    ]


@pytest.mark.parametrize(
    "word, prefixes, suffixes",
    [
        ("tagging", ["t", "ta", "tag", "tagg"], ["g", "ng", "ing", "ging"]),
        ("the", ["t", "th", "the", "the"], ["e", "he", "the", "the"]),
        (".", ["."] * 4, ["."] * 4),
        ("\u4e2d\u6587", ["\u4e2d", *["\u4e2d\u6587"] * 3], ["\u6587", *["\u4e2d\u6587"] * 3]),
        # Characters beyond 16 bits are one character each, and so are combining ones.
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
    # Each length has its own table: "ab" is known as a prefix of length 2 only.
    assert affixes_of(indexer, vocab, "ab", "prefix") == ["a", "ab", unknown, unknown]
    assert affixes_of(indexer, vocab, "", "prefix") == [unknown] * 4


def test_the_vocabulary_of_each_call_is_used():
    indexer = make()
    for word in ("abcd", "xyz"):
        vocab = vocabulary(indexer, word)
        assert affixes_of(indexer, vocab, word, "prefix")[0] == word[0]
        vocab.add_token_to_namespace("q", "affixes_prefix_1")
        assert affixes_of(indexer, vocab, "q", "prefix")[0] == "q"


def test_case_adds_an_index():
    assert "case" not in tensors_of(make(), vocabulary(make(), "a"), ["a"])
    indexer = make(case=True)
    words = ["word", "EU", "Word", "McX", "12", "x1", "."]
    tensors = tensors_of(indexer, vocabulary(indexer, "a"), words, ["a"])
    names = ["padding", *CASES]
    assert [names[index] for index in tensors["case"][0].tolist()] == list(CASES)
    assert tensors["case"][1].tolist() == [1] + [0] * 6


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
        tensors = tensors_of(indexer, vocabulary(indexer, "a"), *sentences)
        shape = (len(sentences), max(map(len, sentences)))
        assert tensors["prefixes"].shape == tensors["suffixes"].shape == (*shape, 4)
        assert not case or tensors["case"].shape == shape
