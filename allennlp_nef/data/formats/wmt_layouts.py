"""
What is tagged in word-level quality estimation, and the layouts of a line of tags, for n words of a translation.

| layout | tags | since |
|---|---|---|
| words | n | WMT16 |
| words and gaps | 2n+1: gap, word, gap, ..., word, gap | WMT18 |
| words and `<EOS>` | n+1: an omission is marked on the word to its right | WMT22 |

`<EOS>` is a token at the end of the translation, and no word: no aligner sees it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote

EOS = "<EOS>"
"""The token after the last word of a translation."""
GAP = "<gap>"
"""The token that stands for a gap between words."""
TAGS = ("OK", "BAD")
TAGGED = {
    "target": "target word",
    "gaps": "gap",
    "target_and_gaps": "target word and gap",
    "source": "source word",
}
"""What can be tagged, and what has a tag then."""


class LineTags(NamedTuple):
    """The tags of a translation."""

    words: list[str]
    """One a token of the translation."""
    gaps: list[str] | None
    """One a gap, n+1 for n words; None where the line has none."""
    layout: str
    """Such as `2n+1 tags (with gaps)`."""


def check_tags(tags: Sequence[str], location: str = "tags", labels: Sequence[str] = TAGS) -> None:
    """Raises a `DataFormatError` at the first tag that is none of the labels."""
    for position, tag in enumerate(tags, 1):
        if tag not in labels:
            raise DataFormatError(
                f"{location}: expected {' or '.join(labels)}, got {quote(tag)} as tag {position}"
            )


def without_eos(words: list[str]) -> list[str]:
    """The words of a translation, without a final `<EOS>`."""
    return words[:-1] if words[-1:] == [EOS] else words


def check_eos(
    source: Sequence[str],
    target: Sequence[str],
    may_end: bool = True,
    locations: tuple[str, str] = ("source", "target"),
) -> None:
    """Raises a `DataFormatError` for an `<EOS>` elsewhere than at the end of a translation that has words.

    # Parameters

    source, target : `Sequence[str]`
    may_end : `bool`, optional (default = `True`)
        Whether the translation may end in `<EOS>`.
    locations : `tuple[str, str]`, optional (default = `("source", "target")`)
        The beginning of a message about either side.
    """
    if EOS in source:
        raise DataFormatError(
            f"{locations[0]}: expected no {EOS} in the source, got it as word {source.index(EOS) + 1}"
        )
    if EOS in target:
        position = target.index(EOS) + 1
        if not may_end:
            raise DataFormatError(
                f"{locations[1]}: expected no {EOS} where gaps are tagged, got it as word {position}"
            )
        if position < len(target) or position == 1:
            raise DataFormatError(
                f"{locations[1]}: expected {EOS} only after the last word, got it as word {position} of {len(target)}"
            )


def split_tags(text: str, target: list[str], location: str, eos: bool = False) -> LineTags:
    """
    The tags of a line, by their number.

    # Parameters

    text : `str`
        The line.
    target : `list[str]`
        The tokens of the translation as its file has them, checked by `check_eos`.
    location : `str`
        The beginning of a message.
    eos : `bool`, optional (default = `False`)
        Whether the tags are to be those of the words and `<EOS>`. Then those of words and gaps become such as WMT22
        made them: a word is BAD where it or the gap before it is, `<EOS>` where the last gap is.

    # Raises

    `DataFormatError`: a number of tags that fits no layout, or none for `eos`; a tag that is neither OK nor BAD.
    """
    tags = text.split()
    has_eos = target[-1] == EOS
    number = len(target) - has_eos
    if len(tags) == number + 1 and (eos or has_eos):
        check_tags(tags, location)
        return LineTags(tags, None, f"n+1 tags (with {EOS})")
    if len(tags) == 2 * number + 1 and (eos or not has_eos):
        check_tags(tags, location)
        words, gaps = tags[1::2], tags[0::2]
        if eos:
            words = ["BAD" if "BAD" in pair else "OK" for pair in zip(gaps, [*words, "OK"])]
        return LineTags(words, gaps, "2n+1 tags (with gaps)")
    if len(tags) == number and not (eos or has_eos):
        check_tags(tags, location)
        return LineTags(tags, None, "n tags (one a target word)")
    raise DataFormatError(f"{location}: {_expected(number, has_eos, eos)}, got {len(tags)}")


def _expected(number: int, has_eos: bool, eos: bool) -> str:
    """The layouts that a line may have."""
    with_eos = f"{number + 1} (with {EOS}"
    with_gaps = f"{2 * number + 1} (with gaps)"
    if eos:
        return f"expected {number + 1} tags (one a target word and one for {EOS}) or {with_gaps}, as eos is true"
    if has_eos:
        return f"expected {number + 1} tags (one a target word and one for {EOS}, in which the translation ends)"
    return f"expected {number} tags (one a target word), {with_gaps} or, where eos is true, {with_eos})"


def tagged_side(
    tagged: str, source: list[str], target: list[str], alignments: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str], Sequence[tuple[int, int]]]:
    """
    The tokens that are tagged, the words of the other side, and the alignments (index in the other side, token).

    # Parameters

    tagged : `str`
        One of `TAGGED`.

        - "target": the tokens are those of the translation.
        - "gaps": the words of the translation and `<EOS>`. Each stands for the gap before it.
        - "target_and_gaps": `<gap>`, word, `<gap>`, ..., word, `<gap>`. A gap is aligned as the words beside it are.
        - "source": the words of the source.
    source, target : `list[str]`
    alignments : `Sequence[tuple[int, int]]`
        Pairs (source index, target index).
    """
    if tagged == "source":
        return source, target, [(j, i) for i, j in alignments]
    if tagged == "gaps":
        return [*target, EOS], source, alignments
    if tagged == "target_and_gaps":
        tokens = interleave([GAP] * (len(target) + 1), target)
        links = {(i, k) for i, j in alignments for k in (2 * j, 2 * j + 1, 2 * j + 2)}
        return tokens, source, sorted(links)
    return target, source, alignments


def interleave(gaps: list[str], words: list[str]) -> list[str]:
    """Gap, word, gap, ..., word, gap: of the n+1 items of gaps and the n items of words."""
    return [item for pair in zip(gaps, words) for item in pair] + gaps[-1:]
