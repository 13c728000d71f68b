"""Tokenizers: their words, and the places of these in the text."""

import sys

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import LettersDigitsTokenizer, Tokenizer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.tokenizers import PunctuationTokenizer, SacremosesTokenizer, split_text
from allennlp_nef.errors import UserError

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


@settings(deadline=None, derandomize=True)
@given(
    st.text(st.characters() | st.sampled_from("ab1 .,'@#-:京は\u0301\ufeff\x00\n"), max_size=20),
    st.booleans(),
)
def test_tokens_are_the_text_without_its_whitespace(text, split_cjk):
    tokens = PunctuationTokenizer(split_cjk).tokenize(text)
    assert all(text[token.idx : token.idx_end] == token.text for token in tokens)
    assert "".join(token.text for token in tokens) == "".join(text.split())


PIECES = [
    *"ab.,'\"&<>-|%[]` \x00\x07\x1c\x7f\x85\u2028\u00a0\t\n\ufeff\u200b\ud800ßの😀",
    *("e\u0301", "👍🏽", "..", "DOT", "MULTI", "z.B.", "12"),
]


@pytest.fixture(scope="module")
def tokenizers():
    pytest.importorskip("sacremoses")
    return {language: SacremosesTokenizer(language) for language in ("en", "de", "fr", "ja")}


def is_dropped(character):
    return character.isspace() or character <= "\x1f"


def assert_places_are_right(text, tokens):
    """They hold the token, do not overlap, and together are all that is not dropped."""
    last = 0
    for token in tokens:
        assert last <= token.idx < token.idx_end <= len(text)
        part = text[token.idx : token.idx_end]
        assert not is_dropped(part[0]) and not is_dropped(part[-1])
        assert token.text == "".join(c for c in part if not is_dropped(c)) != ""
        assert not any(c.isspace() for c in part)
        assert all(is_dropped(c) for c in text[last : token.idx])
        last = token.idx_end
    assert all(is_dropped(c) for c in text[last:])


@settings(deadline=None, max_examples=60)
@example("")
@example(" \x00\t")
@example("DOT\x00MULTI.. DOTDOTMULTI DOTMULTI.")
@given(text=st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(max_size=20))
def test_places_are_right_in_any_text(tokenizers, text):
    for tokenizer in tokenizers.values():
        assert_places_are_right(text, tokenizer.tokenize(text))


def test_tokens_are_those_of_sacremoses(tokenizers):
    from sacremoses import MosesTokenizer

    text = "Dr. Smith\u00a0said: \"it's\u2028<b>50%</b> & more...\"\x85(e.g. cafe\u0301) 😀\t\x01he doesn't\x00."
    for language, tokenizer in tokenizers.items():
        expected = MosesTokenizer(lang=language).tokenize(text, escape=False)
        assert [token.text for token in tokenizer.tokenize(text)] == expected


def test_text_of_which_the_characters_change_is_split_on_whitespace(tokenizers, monkeypatch):
    tokenizer = tokenizers["en"]
    monkeypatch.setattr(tokenizer, "_moses", type("Moses", (), {"tokenize": lambda *a, **k: ["x"]}))
    got = [(token.text, token.idx, token.idx_end) for token in tokenizer.tokenize("don't\x00 go")]
    assert got == [("don't", 0, 5), ("go", 7, 9)]


def test_the_name_is_registered_and_unknown_languages_are_refused(tokenizers):
    params = Params({"type": "sacremoses", "language": "de"})
    assert isinstance(Tokenizer.from_params(params), SacremosesTokenizer)
    with pytest.raises(
        ConfigurationError, match="language: expected one that sacremoses knows, .*, de, "
    ):
        SacremosesTokenizer("german")


def test_missing_package_is_reported_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(
        UserError, match="sacremoses: expected the extra tokenize, which is not installed"
    ):
        SacremosesTokenizer()


class Listed(Tokenizer):
    """Gives the tokens of a list."""

    def __init__(self, tokens):
        self.tokens = tokens

    def tokenize(self, text):
        return self.tokens


class TestSplitText:
    def test_words_are_between_whitespace_without_a_tokenizer(self):
        split = split_text(" a\u00a0bc\n")
        assert (split.words, split.offsets) == (["a", "bc"], [(1, 2), (3, 5)])

    @pytest.mark.parametrize(
        "tokenizer",
        [
            LettersDigitsTokenizer(),  # with the starts alone
            Listed([Token("ab"), Token(" "), Token("."), Token("."), Token("c")]),
            Listed([Token("ab", 0, 2), Token(".", 3, 4), Token(".", 4, 5), Token("c", 5, 6)]),
        ],
    )
    def test_tokens_are_found_in_the_text(self, tokenizer):
        split = split_text("ab ..c", tokenizer)
        assert split.words == ["ab", ".", ".", "c"]
        assert split.offsets == [(0, 2), (3, 4), (4, 5), (5, 6)]

    @pytest.mark.parametrize(
        "tokens", [[Token("x")], [Token("c"), Token("ab")], [Token("a", 5, 9)]]
    )
    def test_tokens_that_are_not_in_the_text_are_refused(self, tokens):
        with pytest.raises(
            ConfigurationError, match="whose tokens are words of the text, got the token"
        ):
            split_text("ab ..c", Listed(tokens))
