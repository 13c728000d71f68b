"""Tokenizers of raw text whose tokens have their places in the text, and the words that any tokenizer gives."""

import re

from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import Tokenizer
from overrides import overrides

from allennlp_nef.data.formats.characters import SplitText, split_on_whitespace
from allennlp_nef.data.formats.wmt_layouts import EOS
from allennlp_nef.errors import needing, quote

# Punctuation and symbols. `\\w` would not do: it lacks the vowel signs of many scripts.
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


@Tokenizer.register("punctuation")
class PunctuationTokenizer(Tokenizer):
    """Splits text at whitespace, and punctuation from words, by rules that need no other package.

    Marks within a word stay: "well-known", "1,000.5", "10:30", "l'homme", "AT&T", "a@b.org", "@user" and "#tag" are one
    token, and so are addresses, abbreviations such as "U.S." and the same mark several times. "Lisbon." is two tokens,
    and so is "Lisbon's". Other abbreviations lose their point: `sacremoses` knows those of its languages. `idx` and
    `idx_end` of a token are its first character in the text and the character after its last one.

    Registered as a `Tokenizer` with name "punctuation".

    # Parameters

    split_cjk : `bool`, optional (default = `False`)
        Whether each Chinese or Japanese character is a token, as these languages have no blanks between words.
    """

    def __init__(self, split_cjk: bool = False) -> None:
        self._split_cjk = split_cjk

    @overrides
    def tokenize(self, text: str) -> list[Token]:
        places = [match.span() for match in _TOKEN.finditer(text)]
        if self._split_cjk:
            places = [m.span() for place in places for m in _CJK_OR_OTHERS.finditer(text, *place)]
        return [Token(text[start:end], idx=start, idx_end=end) for start, end in places]


def split_text(text: str, tokenizer: Tokenizer | None = None) -> SplitText:
    """The words of a text by a tokenizer, or those between whitespace. Tokens of nothing but whitespace are left out.
    An `<EOS>` at the end of the text stays one word.

    Tokens that do not know their places are looked up in the text. Raises `ConfigurationError` for a tokenizer whose
    tokens are not in the text, in their order.
    """
    if tokenizer is None:
        return split_on_whitespace(text)
    split = SplitText(text, [], [])
    last = 0
    length = text.rindex(EOS) if text.split()[-1:] == [EOS] else len(text)
    for token in tokenizer.tokenize(text[:length]):
        word = token.text or ""
        if not word.strip():
            continue
        start = text.find(word, last) if token.idx is None else token.idx
        end = start + len(word) if token.idx_end is None else token.idx_end
        if not last <= start < end <= length:
            raise ConfigurationError(
                "tokenizer: expected one whose tokens are words of the text, got the token "
                f"{quote(word)} for {quote(text)}"
            )
        split.words.append(word)
        split.offsets.append((start, end))
        last = end
    if length < len(text):
        split.words.append(EOS)
        split.offsets.append((length, length + len(EOS)))
    return split


_CJK = ("ja", "ko", "cjk")  # besides those with lists of abbreviations


@Tokenizer.register("sacremoses")
class SacremosesTokenizer(Tokenizer):
    """The tokenizer of Moses, as the package sacremoses has it, with the place of each token in the text.

    sacremoses is optional: the extra `tokenize` of this package has it.

    Nothing is escaped: `&` stays `&`. `idx` and `idx_end` of a token are its first character in the text and the
    character after its last one. A token has the characters of the text in between, without the control characters
    that Moses drops (U+0000 to U+001F, of which tabs, line ends and U+001C to U+001F separate words, as all whitespace
    does). So `text[idx:idx_end]` is the token, but for such characters within a word. Tokens do not overlap, none is
    empty, and together they have all characters that are neither whitespace nor dropped. Where sacremoses adds or loses
    other characters, the words are those between whitespace.

    Registered as a `Tokenizer` with name "sacremoses".

    # Parameters

    language : `str`, optional (default = `"en"`)
        Such as "de": its abbreviations keep their points, and its apostrophes are split as usual there. For a language
        that sacremoses has no abbreviations of, the error names those that it has.
    """

    def __init__(self, language: str = "en") -> None:
        with needing("tokenize", "sacremoses"):
            from sacremoses import MosesTokenizer
            from sacremoses.corpus import NonbreakingPrefixes
        known = {*NonbreakingPrefixes().available_langs.values(), *_CJK}
        if language not in known:
            raise ConfigurationError(
                f"language: expected one that sacremoses knows, {', '.join(sorted(known))}, got {language!r}"
            )
        self._moses = MosesTokenizer(lang=language)

    @overrides
    def tokenize(self, text: str) -> list[Token]:
        # The characters that sacremoses sees, by their places in the text.
        kept = [i for i, c in enumerate(text) if c.isspace() or c > "\x1f"]
        seen = "".join(text[i] for i in kept)
        # sacremoses writes points as DOTMULTI for a while: a text with this word would lose it.
        pieces = self._moses.tokenize(seen.replace("DOTMULTI", "DOTMULTA"), escape=False)
        lengths = [len(piece) for piece in pieces]
        places = [i for i in kept if not text[i].isspace()]
        if sum(lengths) != len(places):
            lengths = [len(word) for word in split_on_whitespace(seen).words]
        tokens, first = [], 0
        for length in lengths:
            own = places[first : first + length]
            word = "".join(text[i] for i in own)
            tokens.append(Token(word, idx=own[0], idx_end=own[-1] + 1))
            first += length
        return tokens
