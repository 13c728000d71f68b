from typing import Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import Tokenizer

from allennlp_nef.data.formats.split_text import SplitText, split_on_whitespace
from allennlp_nef.errors import quote


def split_text(text: str, tokenizer: Optional[Tokenizer] = None) -> SplitText:
    """The words of a text by a tokenizer, or those between whitespace. Tokens of nothing but whitespace are left out.

    Tokens that do not know their places are looked up in the text. Raises `ConfigurationError` for a tokenizer whose
    tokens are not in the text, in their order.
    """
    if tokenizer is None:
        return split_on_whitespace(text)
    split = SplitText(text, [], [])
    last = 0
    for token in tokenizer.tokenize(text):
        word = token.text or ""
        if not word.strip():
            continue
        start = text.find(word, last) if token.idx is None else token.idx
        end = start + len(word) if token.idx_end is None else token.idx_end
        if not last <= start < end <= len(text):
            raise ConfigurationError(
                "source_tokenizer, target_tokenizer: expected one whose tokens are words of the text, got the token "
                f"{quote(word)} for {quote(text)}"
            )
        split.words.append(word)
        split.offsets.append((start, end))
        last = end
    return split
