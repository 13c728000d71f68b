"""Tokenizers: their words, and the positions of these in the text."""

import sys
import time

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import LettersDigitsTokenizer, Tokenizer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.tokenizers import PunctuationTokenizer, SacremosesTokenizer, split_text
from allennlp_nef.data.word_splitting import split_punctuation
from allennlp_nef.errors import DataFormatError, UserError
from tests.data.reader_files import PROPERTY

TEXTS = {
    "He left Lisbon.": ["He", "left", "Lisbon", "."],
    'He said: "Wait... (no, stop!)"': [
        *("He", "said", ":", '"', "Wait", "...", "(", "no", ",", "stop", "!", ")", '"')
    ],
    "Lisbon's well-known l'homme don't": [
        *("Lisbon", "'s", "well-known", "l'", "homme", "do", "n't")
    ],
    "DELL’ITALIA qu'Obama d'aujourd'hui l'«ami» l' homme po' di": [
        *("DELL’", "ITALIA", "qu'", "Obama", "d'", "aujourd'hui"),
        *("l'", "«", "ami", "»", "l'", "homme", "po'", "di"),
    ],
    "in 's-Hertogenbosch, Jan's-in": ["in", "'s-Hertogenbosch", ",", "Jan", "'s", "-", "in"],
    "I'd've CAN’T y'all cannot '90s 'tis 'n't'": [
        *("I", "'d", "'ve", "CA", "N’T", "y'", "all", "can", "not", "'90s", "'tis", "'", "n't", "'")
    ],
    "the boys' 'end of it all' C's": [
        *("the", "boys", "'", "'", "end", "of", "it", "all", "'", "C", "'s")
    ],
    "l'on c'est-à-dire D'ÉVALUATION": ["l'on", "c'est-à-dire", "D'", "ÉVALUATION"],
    "Dr. J. Smith, Ph. no D.": ["Dr.", "J.", "Smith", ",", "Ph", ".", "no", "D", "."],
    "and/or 1/2 t.co/xY a+b@c.org ftp://a.b": [
        *("and", "/", "or", "1/2", "t.co/xY", "a+b@c.org", "ftp://a.b")
    ],
    "5%d 50%, 10 %d.": ["5", "%", "d", "50", "%", ",", "10", "%d", "."],
    "ok😀👍🏽! What?!": ["ok", "😀👍🏽", "!", "What", "?!"],
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


@pytest.mark.parametrize(
    "token",
    [
        *("O'Brien", "D'Alema", "N'Dour", "aujourd'hui", "quelqu'un", "rock'n'roll", "o'clock"),
        *("Selanik'te", "Val-d'Or", "c'hoar", "п'ять", "10:30", "1990's", "'90s", "5'11\"", "6'2"),
        *("%d", "%s", "%1$s", "%-5.2f", "%ld", "%(name)s", "{0}", "${x}", "{{name}}"),
        *("http://a.b/c'd", "a_b+c@d.org", "#l'or", "@user", ":)", ":-(", ";P", "<3", "^_^"),
        *("👩\u200d👩\u200d👧", "👍🏽", "🇹🇷", "❤\ufe0f", "1\ufe0f\u20e3", "©\ufe0f"),
    ],
)
def test_one_token(token):
    words = PunctuationTokenizer().tokenize(f"{token} a, {token}")
    assert [word.text for word in words] == [token, "a", ",", token]


UNITS = [
    *("'", "l'", "L’é", "don't", "n't", "d'd", "'s", "a'", "0'"),
    *("[", "{", "{a", "[{(", "%(a", "%0", "a.", "<", ":", "/", "0"),
    *("a.b/!", "a+", "_a", "www.!", "http://", "a@", "😀"),
    *("A. ", "e' ", "\u200d", "\ud83d", "\u202e'a"),
]


@pytest.mark.parametrize("unit", UNITS)
def test_time_is_linear_in_the_length(unit):
    def seconds(text):
        start = time.process_time()
        split_punctuation(text)
        return time.process_time() - start

    for text in (unit, f"a{unit}!"):
        short = min(seconds(text * 2_000) for _ in range(3))
        # Ten times as long if linear, a hundred times if quadratic.
        assert seconds(text * 20_000) < 40 * short + 0.1


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
    st.text(
        st.characters()
        | st.sampled_from("ab1lnst .,'’@#-:/%{}()0京は😀\u0301\u200d\ufeff\ud83d\x00\n"),
        max_size=20,
    ),
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
