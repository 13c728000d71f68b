"""Tokenizers for raw text, and the words of a text with their positions."""

from typing import Any

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import Tokenizer

from allennlp_nef.data.sentence import Offsets, find_words
from allennlp_nef.data.word_splitting import split_punctuation
from allennlp_nef.errors import require_extra
from allennlp_nef.pretrained.loading import archived_transformer, load_tokenizer


@Tokenizer.register("punctuation")
class PunctuationTokenizer(Tokenizer):
    """Splits text at whitespace, and splits punctuation from words, with one regular expression. Splits words at
    apostrophes as Universal Dependencies do, where that does not depend on the language.

    Words are split after an elided article, pronoun, preposition or conjunction, and before an English clitic:
    "l'|homme", "dell'|Italia", "qu'|il", "Lisbon|'s", "do|n't", in any case and with both apostrophes. Other words with
    an apostrophe are one token each: "O'Brien", "D'Alema", "aujourd'hui", "rock'n'roll", "Selanik'te", "1990's".

    Other punctuation within a word is kept, except slashes between letters: "well-known", "1,000.5", "10:30", "1/2" and
    "AT&T" are one token each. So are addresses, "@user", "#tag", placeholders such as "%d" and "{0}", emoticons, emoji
    sequences, abbreviations such as "U.S." and "Dr.", and repeated marks such as "...". "Lisbon." is two tokens. Tokens
    have their positions in the text as `idx` and `idx_end`.

    # Parameters

    split_cjk : `bool`, optional (default = `False`)
        Whether each Chinese or Japanese character is a token, since these languages do not separate words with blanks.
    pieces_of : `str`, optional (default = `None`)
        The name of a pretrained transformer, as in the `word_pieces` indexer. Its pieces are the tokens of text without
        blanks between words: Chinese, Japanese, Thai, Lao, Burmese and Khmer. An archive with a `transformer` folder
        uses the tokenizer in that folder.
    """

    def __init__(self, split_cjk: bool = False, pieces_of: str | None = None) -> None:
        self.split_cjk = split_cjk
        self.pieces = load_tokenizer(pieces_of) if pieces_of else None

    @classmethod
    def from_params(cls, params: Params, **extras: Any) -> "PunctuationTokenizer":  # type: ignore[override]
        folder = archived_transformer(extras)
        if folder is not None and params.get("pieces_of"):
            params["pieces_of"] = str(folder)
        return super().from_params(params, **extras)

    def tokenize(self, text: str) -> list[Token]:
        spans = split_punctuation(text, self.split_cjk, self.pieces)
        return [Token(text[start:end], idx=start, idx_end=end) for start, end in spans]


# Languages without a list of abbreviations.
_CJK = ("ja", "ko", "cjk")


@Tokenizer.register("sacremoses")
class SacremosesTokenizer(Tokenizer):
    """The Moses tokenizer from the sacremoses package (the `tokenize` extra), without escaping: `&` stays `&`. Tokens
    have their positions in the text as `idx` and `idx_end`. If Moses drops or changes characters of a text, such as
    control characters, the text is split at whitespace instead.

    # Parameters

    language : `str`, optional (default = `"en"`)
        The language code, which determines the abbreviations that keep their period, and where apostrophes are split.
    """

    def __init__(self, language: str = "en") -> None:
        with require_extra("tokenize", "the tokenizer sacremoses"):
            from sacremoses import MosesTokenizer
            from sacremoses.corpus import NonbreakingPrefixes
        # sacremoses would use English rules for other languages.
        known = {*NonbreakingPrefixes().available_langs.values(), *_CJK}
        if language not in known:
            raise ConfigurationError(
                f"language must be one of {', '.join(sorted(known))}, not {language!r}"
            )
        self._moses = MosesTokenizer(lang=language)

    def tokenize(self, text: str) -> list[Token]:
        words = self._moses.tokenize(text, escape=False)
        if "".join(words) != "".join(text.split()):
            words = text.split()
        offsets = find_words(text, words)
        return [Token(word, *span) for word, span in zip(words, offsets)]


PUNCTUATION = PunctuationTokenizer()
"""Splits strings in requests unless a config or an option names another tokenizer."""


def split_text(text: str, tokenizer: Tokenizer) -> tuple[list[str], Offsets]:
    """Returns the words of a text and their offsets.

    # Raises

    `DataFormatError`: the tokenizer has no offsets, and changes the text, so its tokens are not found in it.
    """
    tokens = [token for token in tokenizer.tokenize(text) if token.text and token.text.strip()]
    words = [str(token.text) for token in tokens]
    offsets = [(token.idx, token.idx_end) for token in tokens]
    if all(None not in span and text[slice(*span)] == word for span, word in zip(offsets, words)):
        return words, offsets  # type: ignore[return-value]
    return words, find_words(text, words)
