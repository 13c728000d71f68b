"""Tokenizers for raw text, and the words of a text with their positions."""

import re
from itertools import pairwise

from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import Tokenizer
from overrides import overrides

from allennlp_nef.data.text_files import find_words
from allennlp_nef.data.word_pieces import load_tokenizer
from allennlp_nef.errors import needing

# Punctuation and symbols. `\w` does not include the vowel signs of many scripts, so letters are everything else.
_MARKS = (
    "!-/:-@\\[-^`{-~\u00a1-\u00a9\u00ab\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2100-\u2bff\u3001-\u3003\u3008-\u3020\u30fb\uff01-\uff0f"
    "\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\u0589\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
)
_LETTER = rf"[^\s{_MARKS}]"
_TOKEN = re.compile(
    rf"""
    (?:https?://|www\.)\S*{_LETTER}/?                                # an address
    | (?:[^\W\d_]\.){{2,}}(?!{_LETTER})                               # U.S.
    | ['’]s(?!{_LETTER})                                             # the end of Lisbon's
    | [@\#]?{_LETTER}+(?:(?:[-‐‑.&/@]|['’](?!s(?!{_LETTER}))|(?<=\d)[,:](?=\d)){_LETTER}+)*
    | ([{_MARKS}])\1*                                               # a mark, or ...
    """,
    re.VERBOSE,
)
_HAN_AND_KANA = (
    "\u3040-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_OR_OTHERS = re.compile(f"[{_HAN_AND_KANA}]|[^{_HAN_AND_KANA}]+")
# Thai, Lao, Burmese and Khmer do not separate words either.
_UNSPACED = _HAN_AND_KANA + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED_OR_OTHERS = re.compile(f"([{_UNSPACED}]+)|[^{_UNSPACED}]+")


@Tokenizer.register("punctuation")
class PunctuationTokenizer(Tokenizer):
    """
    Splits text at whitespace, and punctuation from words, with one regular expression.

    Punctuation within a word stays: "well-known", "1,000.5", "10:30", "l'homme", "AT&T", "a@b.org", "@user" and "#tag"
    are one token each. So are addresses, abbreviations such as "U.S." and repeated marks such as "...". "Lisbon." is
    two tokens, and so is "Lisbon's". Tokens have their positions in the text as `idx` and `idx_end`.

    Registered as a `Tokenizer` with name "punctuation".

    # Parameters

    split_cjk : `bool`, optional (default = `False`)
        Whether each Chinese or Japanese character is a token, because these languages do not put blanks between words.
    pieces_of : `str`, optional (default = `None`)
        The name of a pretrained transformer, as in the indexer `word_pieces`. Its pieces are the tokens of text without
        blanks between words: Chinese, Japanese, Thai, Lao, Burmese and Khmer.
    """

    def __init__(self, split_cjk: bool = False, pieces_of: str | None = None) -> None:
        self._split_cjk = split_cjk
        self._pieces = load_tokenizer(pieces_of) if pieces_of else None

    @overrides
    def tokenize(self, text: str) -> list[Token]:
        spans = [match.span() for match in _TOKEN.finditer(text)]
        if self._split_cjk:
            spans = [m.span() for span in spans for m in _CJK_OR_OTHERS.finditer(text, *span)]
        if self._pieces is not None:
            spans = [
                piece
                for span in spans
                for match in _UNSPACED_OR_OTHERS.finditer(text, *span)
                for piece in self._split(match)
            ]
        return [Token(text[start:end], idx=start, idx_end=end) for start, end in spans]

    def _split(self, match: re.Match[str]) -> list[tuple[int, int]]:
        """The places of the pieces of a run of characters, or its own place."""
        start, end = match.span()
        if match[1] is None or self._pieces is None:
            return [(start, end)]
        encoded = self._pieces(match[1], add_special_tokens=False, return_offsets_mapping=True)
        starts = {start + first for first, _ in encoded["offset_mapping"]}
        return list(pairwise(sorted({start, *starts, end})))


# Languages without a list of abbreviations.
_CJK = ("ja", "ko", "cjk")


@Tokenizer.register("sacremoses")
class SacremosesTokenizer(Tokenizer):
    """
    The Moses tokenizer in the package sacremoses (the extra `tokenize`), without escaping: `&` stays `&`. Tokens have
    their positions in the text as `idx` and `idx_end`. If Moses drops or changes characters of a text, such as control
    characters, the text is split at whitespace instead.

    Registered as a `Tokenizer` with name "sacremoses".

    # Parameters

    language : `str`, optional (default = `"en"`)
        The language code; decides which abbreviations keep their period and where apostrophes are split.
    """

    def __init__(self, language: str = "en") -> None:
        with needing("tokenize", "the tokenizer sacremoses"):
            from sacremoses import MosesTokenizer
            from sacremoses.corpus import NonbreakingPrefixes
        # sacremoses would use the rules of English for other languages.
        known = {*NonbreakingPrefixes().available_langs.values(), *_CJK}
        if language not in known:
            raise ConfigurationError(
                f"language must be one of {', '.join(sorted(known))}, not {language!r}"
            )
        self._moses = MosesTokenizer(lang=language)

    @overrides
    def tokenize(self, text: str) -> list[Token]:
        words = self._moses.tokenize(text, escape=False)
        if "".join(words) != "".join(text.split()):
            words = text.split()
        offsets = find_words(text, words)
        return [Token(word, *span) for word, span in zip(words, offsets)]


PUNCTUATION = PunctuationTokenizer()
"""Splits strings in requests unless a config or an option names another tokenizer."""
Offsets = list[tuple[int, int]]
"""The start and the end of each word in a text, in characters."""


def split_text(text: str, tokenizer: Tokenizer) -> tuple[list[str], Offsets]:
    """
    The words of a text and their offsets.

    # Raises

    `DataFormatError`: the tokenizer changes the text, so that its tokens are not found in it.
    """
    words = [token.text for token in tokenizer.tokenize(text) if token.text and token.text.strip()]
    return words, find_words(text, words)
