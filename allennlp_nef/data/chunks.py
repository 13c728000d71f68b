"""Chunks, such as named entities, and the tags that encode them.

A tag is `O`, or a prefix, a hyphen and a type, such as `B-PER`. The prefixes are `B` (begin), `I` (inside), `L` (last)
and `U` (unit, a chunk of one token); `E` (end) and `S` (single) are synonyms of the last two. The type is everything
after the first hyphen.

`chunks_of` reads chunks as the `conlleval` script of the CoNLL shared tasks does: any sequence is valid, and an `I-X`
or `L-X` that continues no chunk of type X starts a new one. This one rule covers IOB1, BIO (IOB2), BIOUL and BIOES.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allennlp_nef.errors import quote

OUTSIDE = "O"
# What `convert_tags` can write.
SCHEMES = ("BIO", "BIOUL")
_PREFIXES = ("B", "I", "L", "U", "E", "S")
_STARTING = ("B", "U", "S")
_CLOSING = ("L", "U", "E", "S")


class Chunk(NamedTuple):
    """A chunk of the tokens `start` to `end` (exclusive), counted from 0."""

    start: int
    end: int
    type: str


def split_tag(tag: str) -> tuple[str, str]:
    """The prefix and the type of a tag; `("O", "")` for `O`.

    # Raises

    `ValueError`: the tag is neither `O` nor a prefix, a hyphen and a type.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, _, kind = tag.partition("-")
    if prefix not in _PREFIXES or not kind:
        raise ValueError(f"expected O or a chunk tag such as B-PER, got {quote(tag)}")
    return prefix, kind


def are_chunk_tags(labels: Iterable[str]) -> bool:
    """Whether all labels are chunk tags or `O`, and at least one of them is a chunk tag."""
    try:
        types = [split_tag(label)[1] for label in labels]
    except ValueError:
        return False
    return any(types)


def chunks_of(tags: Sequence[str]) -> list[Chunk]:
    """The chunks of a sentence, from left to right. Raises the `ValueError` of `split_tag`."""
    chunks: list[Chunk] = []
    start, open_type = 0, ""  # the chunk that may continue; no type: none
    for i, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        continues = bool(open_type) and kind == open_type and prefix not in _STARTING
        if not continues:
            if open_type:
                chunks.append(Chunk(start, i, open_type))
            start, open_type = i, kind
        if prefix in _CLOSING:
            chunks.append(Chunk(start, i + 1, kind))
            open_type = ""
    if open_type:
        chunks.append(Chunk(start, len(tags), open_type))
    return chunks


def encode_chunks(chunks: Iterable[Chunk], length: int, scheme: str) -> list[str]:
    """The tags of a sentence of `length` tokens; `scheme` is "BIO" or "BIOUL". The chunks must not overlap."""
    first, last, unit = {"BIO": ("B", "I", "B"), "BIOUL": ("B", "L", "U")}[scheme]
    tags = [OUTSIDE] * length
    for start, end, kind in chunks:
        tags[start:end] = [f"I-{kind}"] * (end - start)
        tags[start] = f"{first}-{kind}"
        tags[end - 1] = f"{last if end - start > 1 else unit}-{kind}"
    return tags


def convert_tags(tags: Sequence[str], scheme: str) -> list[str]:
    """Encodes the chunks of a sentence in one of the `SCHEMES`. Raises the `ValueError` of `split_tag`."""
    return encode_chunks(chunks_of(tags), len(tags), scheme)
