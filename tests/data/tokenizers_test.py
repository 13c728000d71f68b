"""Tokenizers: their words, and the positions of these in the text."""

import sys

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import LettersDigitsTokenizer, Tokenizer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.tokenizers import PunctuationTokenizer, SacremosesTokenizer, split_text
from allennlp_nef.errors import DataFormatError, UserError
from tests.data.reader_files import PROPERTY

TEXTS = {
    "He left Lisbon.": ["He", "left", "Lisbon", "."],
    'He said: "Wait... (no, stop!)"': [
        *("He", "said", ":", '"', "Wait", "...", "(", "no", ",", "stop", "!", ")", '"')
    ],
    "Lisbon's well-known l'homme don't": ["Lisbon", "'s", "well-known", "l'homme", "don't"],
    "U.S. stocks rose 1,000.5 (3%) at 10:30, $5": [
        *("U.S.", "stocks", "rose", "1,000.5", "(", "3", "%", ")", "at", "10:30", ",", "$", "5")
    ],
    "@user saw #tag at https://a.org/b?c=1, a@b.org": [
        *("@user", "saw", "#tag", "at", "https://a.org/b?c=1", ",", "a@b.org")
    ],
    "„हिन्दी।“ «café» 東京、大阪": ["„", "हिन्दी", "।", "“", "«", "café", "»", "東京", "、", "大阪"],
    "already split 's ; -- .": ["already", "split", "'s", ";", "--", "."],
}


@pytest.mark.parametrize("text", list(TEXTS))
def test_punctuation_is_split_from_words(text):
    assert [token.text for token in PunctuationTokenizer().tokenize(text)] == TEXTS[text]


def test_chinese_and_japanese_are_split_into_characters():
    tokens = PunctuationTokenizer(split_cjk=True).tokenize("GPT-4は東京、大阪。😀 𠀀 한국")
    assert [token.text for token in tokens] == [
        *("GPT-4", "は", "東", "京", "、", "大", "阪", "。", "😀", "𠀀", "한국")
    ]


def assert_tokens_are_the_text(text, tokens):
    assert all(text[token.idx : token.idx_end] == token.text for token in tokens)
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert not any(character.isspace() for token in tokens for character in token.text)
    assert all(first.idx_end <= second.idx for first, second in zip(tokens, tokens[1:]))


@PROPERTY
@given(
    st.text(st.characters() | st.sampled_from("ab1 .,'@#-:京は\u0301\ufeff\x00\n"), max_size=20),
    st.booleans(),
)
def test_punctuation_tokens_are_the_text_without_whitespace(text, split_cjk):
    assert_tokens_are_the_text(text, PunctuationTokenizer(split_cjk).tokenize(text))


PIECES = [
    *"ab.,'\"&<>-|%[]` \x00\x07\x1c\x7f\x85\u2028\u00a0\t\n\ufeff\u200b\ud800ßの😀",
    *("e\u0301", "👍🏽", "..", "DOT", "MULTI", "z.B.", "12"),
]


@pytest.fixture(scope="module")
def moses():
    pytest.importorskip("sacremoses")
    return {language: SacremosesTokenizer(language) for language in ("en", "de", "fr", "ja")}


@settings(PROPERTY, max_examples=60)
@example("")
@example(" \x00\t")
@example("DOT\x00MULTI.. DOTDOTMULTI DOTMULTI.")
@given(text=st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=20))
def test_moses_tokens_are_the_text_without_whitespace(moses, text):
    for tokenizer in moses.values():
        assert_tokens_are_the_text(text, tokenizer.tokenize(text))


def test_tokens_are_those_of_sacremoses(moses):
    from sacremoses import MosesTokenizer

    text = (
        "Dr. Smith\u00a0said: \"it's\u2028<b>50%</b> & more...\" (e.g. cafe\u0301) 😀\the doesn't."
    )
    for language, tokenizer in moses.items():
        expected = MosesTokenizer(lang=language).tokenize(text, escape=False)
        assert [token.text for token in tokenizer.tokenize(text)] == expected


def test_a_text_that_moses_changes_is_split_at_whitespace(moses):
    tokens = moses["en"].tokenize("don't\x00 go.")
    assert [(t.text, t.idx, t.idx_end) for t in tokens] == [("don't\x00", 0, 6), ("go.", 7, 10)]


def test_moses_is_registered_and_refuses_unknown_languages(moses):
    params = Params({"type": "sacremoses", "language": "de"})
    assert isinstance(Tokenizer.from_params(params), SacremosesTokenizer)
    with pytest.raises(ConfigurationError):
        SacremosesTokenizer("german")


def test_a_missing_package_is_a_user_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UserError, match="tokenize"):
        SacremosesTokenizer()


def test_tokens_are_found_in_the_text(monkeypatch):
    tokenizer = LettersDigitsTokenizer()
    offsets = [(0, 2), (3, 4), (4, 5), (5, 6)]
    assert split_text("ab ..c", tokenizer) == (["ab", ".", ".", "c"], offsets)
    monkeypatch.setattr(tokenizer, "tokenize", lambda text: [Token("c"), Token("ab")])
    with pytest.raises(DataFormatError):
        split_text("ab ..c", tokenizer)
