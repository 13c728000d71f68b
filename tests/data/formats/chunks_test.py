import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.scheme import BILOU, IOB1, IOB2, Entities

from allennlp_nef.data.formats.chunks import (
    PREFIXES,
    SCHEMES,
    Chunk,
    chunks_of,
    convert_tags,
    encode_chunks,
    is_allowed,
    split_tag,
)

TYPES = ("X", "Y", "Z-1")
TAGS = ["O", *(f"{prefix}-{kind}" for prefix in PREFIXES for kind in TYPES)]


@st.composite
def sentences(draw):
    """Chunks and the length of their sentence; some chunks touch."""
    chunks, position = [], 0
    for kind in draw(st.lists(st.sampled_from(TYPES), max_size=5)):
        position += draw(st.integers(0, 2))
        length = draw(st.integers(1, 3))
        chunks.append(Chunk(position, position + length, kind))
        position += length
    return chunks, max(position + draw(st.integers(0, 2)), 1)


def iob1(chunks, length):
    """B only where a chunk of the same type ends before."""
    tags = ["O"] * length
    for start, end, kind in chunks:
        tags[start:end] = [f"I-{kind}"] * (end - start)
    for before, after in zip(chunks, chunks[1:]):
        if before.end == after.start and before.type == after.type:
            tags[after.start] = f"B-{after.type}"
    return tags


class TestSplitTag:
    @pytest.mark.parametrize(
        "tag, expected",
        [
            ("O", ("O", "")),
            ("B-PER", ("B", "PER")),
            ("I-A-B", ("I", "A-B")),
            ("L--", ("L", "-")),
        ],
    )
    def test_tags_have_a_prefix_and_a_type(self, tag, expected):
        assert split_tag(tag) == expected

    @pytest.mark.parametrize(
        "tag",
        ["", "B", "B-", "-PER", "b-PER", "O-PER", "BI-PER", "X-PER", " O"],
    )
    def test_other_tags_are_refused(self, tag):
        with pytest.raises(ValueError) as info:
            split_tag(tag)
        assert str(info.value) == f"expected O or a chunk tag such as B-PER, got {tag!r}"


class TestChunksOf:
    @pytest.mark.parametrize(
        "tags, expected",
        [
            ("", []),
            ("O O", []),
            # Well-formed.
            ("B-X I-X O", [(0, 2, "X")]),
            ("B-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
            ("O U-X B-Y L-Y O", [(1, 2, "X"), (2, 4, "Y")]),
            ("B-X I-X I-X L-X U-X", [(0, 4, "X"), (4, 5, "X")]),
            ("B-X E-X S-X", [(0, 2, "X"), (2, 3, "X")]),
            # IOB1.
            ("I-X I-X B-X I-X O", [(0, 2, "X"), (2, 4, "X")]),
            ("I-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
            # I-X after O, at the start and after another type begins a chunk.
            ("I-X", [(0, 1, "X")]),
            ("O I-X I-X", [(1, 3, "X")]),
            ("B-X I-Y I-Y B-X", [(0, 1, "X"), (1, 3, "Y"), (3, 4, "X")]),
            ("B-X O I-X", [(0, 1, "X"), (2, 3, "X")]),
            # So does L-X, and it closes.
            ("L-X L-X", [(0, 1, "X"), (1, 2, "X")]),
            ("B-X L-Y", [(0, 1, "X"), (1, 2, "Y")]),
            ("I-X L-X I-X", [(0, 2, "X"), (2, 3, "X")]),
            ("B-X L-X I-X L-X", [(0, 2, "X"), (2, 4, "X")]),
            ("U-X I-X", [(0, 1, "X"), (1, 2, "X")]),
            ("U-X L-X", [(0, 1, "X"), (1, 2, "X")]),
            ("I-X U-X I-X", [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
            ("S-X E-X", [(0, 1, "X"), (1, 2, "X")]),
            # A chunk that nothing ends.
            ("B-X", [(0, 1, "X")]),
            ("B-X B-Y", [(0, 1, "X"), (1, 2, "Y")]),
            ("B-X U-X", [(0, 1, "X"), (1, 2, "X")]),
            ("I-X S-X", [(0, 1, "X"), (1, 2, "X")]),
            ("B-X I-X O L-X", [(0, 2, "X"), (3, 4, "X")]),
            # The type is all that follows the first hyphen.
            ("B-A-B I-A-C I-A-C", [(0, 1, "A-B"), (1, 3, "A-C")]),
        ],
    )
    def test_chunks_are_those_of_conlleval(self, tags, expected):
        chunks = chunks_of(tags.split())
        assert chunks == expected
        assert all(isinstance(chunk, Chunk) for chunk in chunks)

    @pytest.mark.parametrize("scheme, name", [(IOB2, "BIO"), (BILOU, "BIOUL"), (IOB1, "IOB1")])
    def test_chunks_are_those_of_seqeval(self, scheme, name):
        """On well-formed tags, without hyphens in the types."""
        rng = random.Random(name)
        for _ in range(300):
            chunks, position = [], 0
            for _ in range(rng.randint(0, 4)):
                start = position + rng.choice([0, 0, 1, 2])
                position = start + rng.randint(1, 3)
                chunks.append(Chunk(start, position, rng.choice("XY")))
            length = position + rng.randint(0, 2)
            if not length:
                continue
            tags = iob1(chunks, length) if name == "IOB1" else encode_chunks(chunks, length, name)
            (entities,) = Entities([tags], scheme).entities
            assert chunks_of(tags) == chunks == [(e.start, e.end, e.tag) for e in entities]


class TestEncoding:
    @settings(deadline=None, derandomize=True)
    @given(sentences(), st.sampled_from([*SCHEMES, "IOB1", "BIOES"]))
    def test_what_is_encoded_is_read(self, sentence, scheme):
        chunks, length = sentence
        if scheme == "IOB1":
            tags = iob1(chunks, length)
        elif scheme == "BIOES":
            table = str.maketrans("LU", "ES")
            bioul = encode_chunks(chunks, length, "BIOUL")
            tags = [tag[0].translate(table) + tag[1:] for tag in bioul]
        else:
            tags = encode_chunks(chunks, length, scheme)
        assert len(tags) == length
        assert chunks_of(tags) == chunks
        for target in SCHEMES:
            converted = convert_tags(tags, target)
            assert converted == encode_chunks(chunks, length, target)
            assert convert_tags(converted, target) == converted

    @settings(deadline=None, derandomize=True)
    @given(st.lists(st.sampled_from(TAGS), max_size=8), st.sampled_from(SCHEMES))
    def test_conversion_keeps_chunks_of_any_sequence(self, tags, scheme):
        converted = convert_tags(tags, scheme)
        assert chunks_of(converted) == chunks_of(tags)
        transitions = zip([None, *converted], [*converted, None])
        assert all(is_allowed(before, after, scheme) for before, after in transitions)

    @pytest.mark.parametrize(
        "chunks", [[(0, 3, "X")], [(-1, 1, "X")], [(1, 1, "X")], [(0, 2, "X"), (1, 2, "Y")]]
    )
    def test_bad_chunks_are_refused(self, chunks):
        with pytest.raises(ValueError, match="chunks: expected some within 2 tokens"):
            encode_chunks([Chunk(*chunk) for chunk in chunks], 2, "BIO")


class TestIsAllowed:
    @pytest.mark.parametrize("scheme", SCHEMES)
    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_allowed_sequences_are_the_codes_of_their_chunks(self, scheme, length):
        prefixes = "BI" if scheme == "BIO" else "BILU"
        tags = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in "XY")]
        count = 0
        for sequence in itertools.product(tags, repeat=length):
            transitions = zip([None, *sequence], [*sequence, None])
            allowed = all(is_allowed(before, after, scheme) for before, after in transitions)
            assert allowed == (convert_tags(sequence, scheme) == list(sequence))
            count += allowed
        assert 0 < count < len(tags) ** length
