"""Chunks and the tags that encode them, against seqeval and small examples."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.scheme import BILOU, IOB1, IOB2, Entities

from allennlp_nef.data.chunks import (
    SCHEMES,
    Chunk,
    are_chunk_tags,
    chunks_of,
    convert_tags,
    encode_chunks,
    split_tag,
)

TYPES = ("X", "Y", "Z-1", "")
TAGS = ["O", *(f"{prefix}-{kind}".rstrip("-") for prefix in "BILUES" for kind in TYPES)]


@st.composite
def sentences(draw):
    """The chunks and the length of a sentence; some chunks touch."""
    chunks, position = [], 0
    for kind in draw(st.lists(st.sampled_from(TYPES), max_size=5)):
        position += draw(st.integers(0, 2))
        length = draw(st.integers(1, 3))
        chunks.append(Chunk(position, position + length, kind))
        position += length
    return chunks, max(position + draw(st.integers(0, 2)), 1)


def iob1(chunks, length):
    """B only if a chunk of the same type ends right before."""
    tags = ["O"] * length
    for start, end, kind in chunks:
        tags[start:end] = [f"I-{kind}".rstrip("-")] * (end - start)
    for before, after in zip(chunks, chunks[1:]):
        if before.end == after.start and before.type == after.type:
            tags[after.start] = f"B-{after.type}".rstrip("-")
    return tags


class TestTags:
    @pytest.mark.parametrize(
        "tag, expected",
        [
            ("O", ("O", "")),
            ("B-PER", ("B", "PER")),
            ("I-A-B", ("I", "A-B")),
            ("L--", ("L", "-")),
            ("B", ("B", "")),
        ],
    )
    def test_tags_have_a_prefix_and_a_type(self, tag, expected):
        assert split_tag(tag) == expected

    @pytest.mark.parametrize("tag", ["", "X", "B-", "-PER", "b-PER", "O-PER", "BI-PER", " O"])
    def test_other_tags_are_errors(self, tag):
        with pytest.raises(ValueError):
            split_tag(tag)

    def test_labels_are_chunk_tags_if_all_of_them_are(self):
        assert are_chunk_tags(["O", "B-X"]) and are_chunk_tags(["O", "I"])
        assert not are_chunk_tags(["O"])
        assert not are_chunk_tags(["B-X", "NOUN"])
        assert not are_chunk_tags(["OK", "BAD"])


class TestChunksOf:
    @pytest.mark.parametrize(
        "tags, expected",
        [
            ("", []),
            ("I-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
            # I-X starts a chunk after O, at the start and after another type.
            ("I-X", [(0, 1, "X")]),
            ("B-X I-Y I-Y B-X", [(0, 1, "X"), (1, 3, "Y"), (3, 4, "X")]),
            ("B-X O I-X", [(0, 1, "X"), (2, 3, "X")]),
            # So does L-X, and it ends the chunk.
            ("L-X L-X", [(0, 1, "X"), (1, 2, "X")]),
            ("I-X L-X I-X", [(0, 2, "X"), (2, 3, "X")]),
            ("B-X L-X I-X L-X", [(0, 2, "X"), (2, 4, "X")]),
            ("I-X U-X I-X", [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
            ("S-X E-X", [(0, 1, "X"), (1, 2, "X")]),
            # A chunk that nothing ends.
            ("B-X I-X O L-X", [(0, 2, "X"), (3, 4, "X")]),
            # The type is everything after the first hyphen.
            ("B-A-B I-A-C I-A-C", [(0, 1, "A-B"), (1, 3, "A-C")]),
            # Without a type, alone and beside other types.
            ("O B I O I I B", [(1, 3, ""), (4, 6, ""), (6, 7, "")]),
            ("B I-X I L U", [(0, 1, ""), (1, 2, "X"), (2, 4, ""), (4, 5, "")]),
        ],
    )
    def test_chunks_of_small_examples(self, tags, expected):
        assert chunks_of(tags.split()) == expected

    @pytest.mark.parametrize("scheme, name", [(IOB2, "BIO"), (BILOU, "BIOUL"), (IOB1, "IOB1")])
    def test_chunks_are_those_of_seqeval(self, scheme, name):
        """On well-formed tags, without hyphens in the types."""
        rng = random.Random(name)
        for _ in range(200):
            chunks, position = [], 0
            for _ in range(rng.randint(1, 4)):
                start = position + rng.choice([0, 0, 1, 2])
                position = start + rng.randint(1, 3)
                chunks.append(Chunk(start, position, rng.choice("XY")))
            length = position + rng.randint(0, 2)
            tags = iob1(chunks, length) if name == "IOB1" else encode_chunks(chunks, length, name)
            (entities,) = Entities([tags], scheme).entities
            assert chunks_of(tags) == chunks == [(e.start, e.end, e.tag) for e in entities]


class TestEncoding:
    @settings(deadline=None, derandomize=True)
    @given(sentences(), st.sampled_from([*SCHEMES, "IOB1", "BIOES"]))
    def test_chunks_survive_the_round_trip(self, sentence, scheme):
        chunks, length = sentence
        if scheme == "IOB1":
            tags = iob1(chunks, length)
        elif scheme == "BIOES":
            bioul = encode_chunks(chunks, length, "BIOUL")
            tags = [{"L": "E", "U": "S"}.get(tag[0], tag[0]) + tag[1:] for tag in bioul]
        else:
            tags = encode_chunks(chunks, length, scheme)
        assert chunks_of(tags) == chunks
        for target in SCHEMES:
            converted = convert_tags(tags, target)
            assert converted == encode_chunks(chunks, length, target)
            assert convert_tags(converted, target) == converted

    @pytest.mark.parametrize(
        "tags, bio, bioul",
        [
            ("B-X ? I-X O ?", "B-X ? I-X O ?", "B-X ? L-X O ?"),
            ("? I-X ? ? L-X B-X", "? I-X ? ? I-X B-X", "? I-X ? ? L-X U-X"),
            ("I-X ? I-Y", "B-X ? I-Y", "U-X ? L-Y"),
            ("B ? I", "B ? I", "B ? L"),
        ],
    )
    def test_words_without_a_tag_stay_so(self, tags, bio, bioul):
        given, *expected = (
            [None if tag == "?" else tag for tag in row.split()] for row in (tags, bio, bioul)
        )
        assert [convert_tags(given, scheme) for scheme in SCHEMES] == expected

    @settings(deadline=None, derandomize=True)
    @given(st.lists(st.sampled_from(TAGS), max_size=8), st.sampled_from(SCHEMES))
    def test_conversion_keeps_the_chunks_of_any_sequence(self, tags, scheme):
        assert chunks_of(convert_tags(tags, scheme)) == chunks_of(tags)
