"""The indexer of affixes and cases of words."""

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Instance, Token, TokenIndexer
from allennlp.data.fields import TextField
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.affixes import CASES, case_of
from tests.data.reader_files import PROPERTY
from tests.small_batches import batch_of


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


@pytest.mark.parametrize("sentences", [[[]], [[], []], [["a"], []], [["ab", "x"], ["c"]]])
def test_padding_is_0(sentences):
    indexer = TokenIndexer.from_params(Params({"type": "affixes", "case": True}))
    fields = [TextField([Token(word) for word in words], {"a": indexer}) for words in sentences]
    batch, _ = batch_of([Instance({"tokens": field}) for field in fields])
    tensors = batch["tokens"]["a"]
    for name, sizes in {"prefixes": [4], "suffixes": [4], "case": []}.items():
        assert tensors[name].dtype is torch.long
        assert tensors[name].shape == (len(sentences), max(map(len, sentences)), *sizes)
        for row, words in zip(tensors[name], sentences):
            assert (row[: len(words)] > 0).all() and (row[len(words) :] == 0).all()
