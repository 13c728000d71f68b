"""The tokenizer `punctuation`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.tokenizers import PunctuationTokenizer

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


@settings(deadline=None, derandomize=True)
@given(st.text(st.characters() | st.sampled_from("ab1 .,'@#-:\u0301\ufeff\x00\n"), max_size=20))
def test_tokens_are_the_text_without_its_whitespace(text):
    tokens = PunctuationTokenizer().tokenize(text)
    assert all(text[token.idx : token.idx_end] == token.text for token in tokens)
    assert "".join(token.text for token in tokens) == "".join(text.split())
