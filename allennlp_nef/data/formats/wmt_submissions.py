"""Lines of tags, and rows of words and tags, as the WMT shared tasks on word-level quality estimation take them."""

from collections.abc import Sequence

from allennlp_nef.data.formats.wmt_layouts import check_tags
from allennlp_nef.errors import DataFormatError, quote

KINDS = ("mt", "gap", "source")
"""What the tags of a file in seven columns are of: words of the translation, gaps, source words."""


def format_tags(tags: Sequence[str]) -> str:
    """
    A line of a `.tags` file, without its line end: `OK BAD OK`.

    # Raises

    `DataFormatError`: no tags, or one that is neither OK nor BAD.
    """
    if not tags:
        raise DataFormatError("tags: expected at least one tag, got none")
    check_tags(tags)
    return " ".join(tags)


def format_submission(
    method: str,
    sentence_index: int,
    words: Sequence[str],
    tags: Sequence[str],
    language_pair: str | None = None,
    kind: str = "mt",
) -> str:
    """
    Rows of a WMT word-level submission, one a target word: method, sentence, word index, word and tag, separated by
    tabs. Indices are from 0. Rows are joined by line ends, the last has none.

    # Parameters

    method : `str`
        The name of the system.
    sentence_index : `int`
    words, tags : `Sequence[str]`
        For gaps, each word is `gap`.
    language_pair : `str`, optional (default = `None`)
        Such as "en-de". With it the rows are those of WMT20 and later: language pair, method, kind, sentence, word
        index, word and tag.
    kind : `str`, optional (default = `"mt"`)
        One of `KINDS`; with a language pair only.

    # Raises

    `DataFormatError`: different numbers of words and tags, no words, an unknown tag or kind, an empty method, language
    pair or word, or one that contains a tab or a line end.
    """
    if len(words) != len(tags) or not words:
        raise DataFormatError(
            f"tags: expected one tag for each of at least one word, "
            f"got {len(words)} words and {len(tags)} tags"
        )
    check_tags(tags)
    if kind not in KINDS:
        raise DataFormatError(f"kind: expected {', '.join(KINDS)}, got {quote(kind)}")
    names = [("method", method)]
    if language_pair is not None:
        names.insert(0, ("language_pair", language_pair))
    for name, text in (*names, *(("word", word) for word in words)):
        if not text or any(character in text for character in "\t\r\n"):
            raise DataFormatError(
                f"{name}: expected text without tabs and line ends, got {quote(text)}"
            )
    before = method if language_pair is None else f"{language_pair}\t{method}\t{kind}"
    return "\n".join(
        f"{before}\t{sentence_index}\t{index}\t{word}\t{tag}"
        for index, (word, tag) in enumerate(zip(words, tags))
    )
