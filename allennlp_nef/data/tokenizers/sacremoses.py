from allennlp.common.checks import ConfigurationError
from allennlp.data import Token
from allennlp.data.tokenizers import Tokenizer
from overrides import overrides

from allennlp_nef.data.formats.split_text import split_on_whitespace
from allennlp_nef.errors import needing

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
