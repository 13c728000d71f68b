from allennlp.common.checks import ConfigurationError
from allennlp.data.tokenizers import Tokenizer

from allennlp_nef.data.formats.split_text import SplitText, split_on_whitespace
from allennlp_nef.data.formats.wmt_layouts import EOS
from allennlp_nef.errors import quote


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
                "source_tokenizer, target_tokenizer: expected one whose tokens are words of the text, got the token "
                f"{quote(word)} for {quote(text)}"
            )
        split.words.append(word)
        split.offsets.append((start, end))
        last = end
    if length < len(text):
        split.words.append(EOS)
        split.offsets.append((length, length + len(EOS)))
    return split
