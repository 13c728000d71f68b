"""
Chunks (spans with a type, such as named entities) and the tags that encode them.

A tag is `O`, or a prefix, a hyphen and a type: `B-PER`. The type is what follows the first hyphen. Prefixes are `B`
(begin), `I` (inside), `L` (last) and `U` (unit, a chunk of one token); `E` (end) and `S` (single) are other names of
the last two.

Chunks are read off a tag sequence as the shared tasks' `conlleval` does, which is defined for any sequence: an `I-X` or
`L-X` that follows neither a `B-X` nor an `I-X` starts a chunk. One rule reads IOB1, IOB2 (BIO) and BIOUL alike.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allennlp_nef.errors import quote

SCHEMES = ("BIO", "BIOUL")
OUTSIDE = "O"
PREFIXES = ("B", "I", "L", "U", "E", "S")
_CLOSING = ("L", "U", "E", "S")


class Chunk(NamedTuple):
    """Tokens `start` to `end` (exclusive), from 0."""

    start: int
    end: int
    type: str


def split_tag(tag: str) -> tuple[str, str]:
    """
    Prefix and type of a tag; `("O", "")` for `O`.

    # Raises

    `ValueError`: the tag is neither `O` nor one of the prefixes, a hyphen and a type.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, hyphen, kind = tag.partition("-")
    if prefix not in PREFIXES or not hyphen or not kind:
        raise ValueError(f"expected O or a chunk tag such as B-PER, got {quote(tag)}")
    return prefix, kind


def are_chunk_tags(labels: Iterable[str]) -> bool:
    """Whether some label is that of a chunk, and each is that or O."""
    try:
        return any(kind for _, kind in map(split_tag, labels))
    except ValueError:
        return False


def chunks_of(tags: Sequence[str]) -> list[Chunk]:
    """The chunks of a sentence, from left to right. Raises the `ValueError` of `split_tag`."""
    chunks = []
    start, open_type = 0, ""  # of the chunk that may continue; no type: none
    for i, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        continues = bool(open_type) and kind == open_type and prefix not in ("B", "U", "S")
        if open_type and not continues:
            chunks.append(Chunk(start, i, open_type))
        if not continues:
            start = i
        open_type = kind
        if prefix in _CLOSING:
            chunks.append(Chunk(start, i + 1, kind))
            open_type = ""
    if open_type:
        chunks.append(Chunk(start, len(tags), open_type))
    return chunks


def encode_chunks(chunks: Sequence[Chunk], length: int, scheme: str) -> list[str]:
    """
    The tags of a sentence of `length` tokens, in one of the `SCHEMES`.

    # Raises

    `ValueError`: an unknown scheme; a chunk that is empty, not within the sentence, or overlaps another.
    """
    _check_scheme(scheme)
    tags = [OUTSIDE] * length
    for start, end, kind in chunks:
        if not 0 <= start < end <= length or any(tag != OUTSIDE for tag in tags[start:end]):
            raise ValueError(
                f"chunks: expected some within {length} tokens, none of which overlap, got {start} to {end}"
            )
        tags[start:end] = [f"I-{kind}"] * (end - start)
        if scheme == "BIO":
            tags[start] = f"B-{kind}"
        elif end - start == 1:
            tags[start] = f"U-{kind}"
        else:
            tags[start], tags[end - 1] = f"B-{kind}", f"L-{kind}"
    return tags


def convert_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """The same chunks in one of the `SCHEMES`. Raises the `ValueError` of `split_tag` and `encode_chunks`."""
    return encode_chunks(chunks_of(tags), len(tags), scheme)


def is_allowed(before: str | None, after: str | None, scheme: str) -> bool:
    """
    Whether a tag may follow another in a well-formed sequence; None is the start or the end of the sentence.

    In BIO, I-X follows B-X or I-X only. In BIOUL, I-X and L-X follow B-X or I-X only, and nothing else follows these.
    Raises the `ValueError` of `split_tag`, and one for an unknown scheme.
    """
    _check_scheme(scheme)
    before_prefix, before_type = split_tag(before or OUTSIDE)
    after_prefix, after_type = split_tag(after or OUTSIDE)
    continues = after_prefix in ("I", "L", "E")
    if scheme == "BIO":
        return not continues or (before_prefix in ("B", "I") and before_type == after_type)
    is_open = before_prefix in ("B", "I")
    return continues == is_open and (not is_open or before_type == after_type)


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: expected {' or '.join(SCHEMES)}, got {quote(scheme)}")
