"""Chunks, such as named entities, and the tags that encode them.

A tag is `O`, a prefix, a hyphen and a type, such as `B-PER`, or a prefix alone, whose type is empty. The prefixes are
`B` (begin), `I` (inside), `L` (last) and `U` (unit, a chunk of one token); `E` (end) and `S` (single) are synonyms of
the last two. The type is everything after the first hyphen.

`chunks_of` reads chunks as the `conlleval` script of the CoNLL shared tasks does: any sequence is valid, and an `I-X`
or `L-X` that continues no chunk of type X starts a new one. This one rule covers IOB1, BIO (IOB2), BIOUL and BIOES.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from allennlp_nef.errors import quote

OUTSIDE = "O"
# The schemes that `convert_tags` can write.
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
    """Returns the prefix and the type of a tag; `("O", "")` for `O`.

    # Raises

    `ValueError`: the tag is neither `O` nor a prefix with or without a type.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, hyphen, kind = tag.partition("-")
    if prefix not in _PREFIXES or (hyphen and not kind):
        raise ValueError(f"expected O or a chunk tag such as B-PER, got {quote(tag)}")
    return prefix, kind


def are_chunk_tags(labels: Iterable[str]) -> bool:
    """Returns whether all labels are chunk tags or `O` and at least one is a chunk tag."""
    try:
        prefixes = {split_tag(label)[0] for label in labels}
    except ValueError:
        return False
    return bool(prefixes - {OUTSIDE})


def chunks_of(tags: Sequence[str]) -> list[Chunk]:
    """Returns the chunks of a sentence, from left to right. Raises the `ValueError` of `split_tag`."""
    chunks: list[Chunk] = []
    start, open_type = 0, None  # the chunk that may continue, if any
    for i, tag in enumerate(tags):
        prefix, kind = split_tag(tag)
        continues = kind == open_type and prefix not in (OUTSIDE, *_STARTING)
        if not continues:
            if open_type is not None:
                chunks.append(Chunk(start, i, open_type))
            start, open_type = i, None if prefix == OUTSIDE else kind
        if prefix in _CLOSING:
            chunks.append(Chunk(start, i + 1, kind))
            open_type = None
    if open_type is not None:
        chunks.append(Chunk(start, len(tags), open_type))
    return chunks


def encode_chunks(chunks: Iterable[Chunk], length: int, scheme: str) -> list[str]:
    """Returns the tags of a sentence of `length` tokens; `scheme` is "BIO" or "BIOUL". The chunks must not overlap."""
    first, last, unit = {"BIO": ("B", "I", "B"), "BIOUL": ("B", "L", "U")}[scheme]
    tags = [OUTSIDE] * length
    for start, end, kind in chunks:
        suffix = f"-{kind}" if kind else ""
        tags[start:end] = [f"I{suffix}"] * (end - start)
        tags[start] = f"{first}{suffix}"
        tags[end - 1] = f"{last if end - start > 1 else unit}{suffix}"
    return tags


def convert_tags(tags: Sequence[Any], scheme: str) -> list[Any]:
    """Encodes the chunks of a sentence in one of the `SCHEMES`. None, the tag of a word without a gold tag, stays None;
    such a word is inside a chunk that continues after it. Raises the `ValueError` of `split_tag`.
    """
    filled: list[str] = []
    for tag in reversed(tags):
        after = filled[-1] if filled else OUTSIDE
        inside = f"I{after[1:]}" if split_tag(after)[0] in ("I", "L", "E") else OUTSIDE
        filled.append(inside if tag is None else tag)
    converted = encode_chunks(chunks_of(filled[::-1]), len(tags), scheme)
    return [None if tag is None else new for tag, new in zip(tags, converted)]
