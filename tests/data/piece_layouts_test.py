from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.piece_layouts import (
    MIN_ROOM,
    PieceLayout,
    best_part,
    split_pair,
)


def ends_of(counts):
    return [0, *accumulate(counts)]


@st.composite
def pairs(draw):
    """A room, and the ends of the words of two sentences whose words have at most a quarter of it."""
    room = draw(st.integers(MIN_ROOM, 40))
    counts = st.lists(st.integers(1, room // 4), min_size=1, max_size=60)
    return room, ends_of(draw(counts)), ends_of(draw(counts))


@given(pairs())
def test_parts_fit_and_each_word_is_in_one(pair):
    room, *ends = pair
    parts = split_pair(*ends, room)
    for part in parts:
        sizes = [side[last] - side[first] for side, (first, last) in zip(ends, part)]
        assert min(sizes) > 0 and sum(sizes) <= room
    for side, windows in zip(ends, zip(*parts)):
        num_words = len(side) - 1
        for word in range(num_words):
            first, last = windows[best_part(word, windows, num_words)]
            assert first <= word < last
    assert (len(parts) == 1) is (ends[0][-1] + ends[1][-1] <= room)
    assert parts == sorted(parts)


def test_sentence_that_fits_is_whole_in_each_part():
    parts = split_pair(ends_of([1] * 4), ends_of([1] * 12), 10)
    assert parts == [((0, 4), (0, 6)), ((0, 4), (3, 9)), ((0, 4), (6, 12))]
    assert split_pair(ends_of([1] * 12), ends_of([1] * 4), 10) == [part[::-1] for part in parts]


def test_windows_of_two_long_sentences_move_together():
    parts = split_pair(ends_of([1] * 10), ends_of([1] * 20), 10)
    assert parts[0] == ((0, 5), (0, 5)) and parts[-1] == ((5, 10), (15, 20))
    middle = parts[len(parts) // 2]
    assert middle == ((2, 7), (7, 12))


def test_best_part_is_that_with_the_most_context():
    windows = [(0, 6), (3, 9), (6, 12)]
    assert [best_part(word, windows, 12) for word in range(12)] == [*[0] * 4, *[1] * 4, *[2] * 4]
    # A whole sentence beside windows of the other one: the part at the place of the word.
    assert [best_part(word, [(0, 4), (0, 4)], 4) for word in range(4)] == [0, 0, 1, 1]


class Brackets:
    """Joins two sentences as 90 a 91 92 b 93."""

    def __call__(self, first, second=None, add_special_tokens=True, **options):
        if not add_special_tokens:
            return {"input_ids": [1]}
        return {
            "input_ids": [90, 1, 91, 92, 2, 3, 93],
            "token_type_ids": [0, 0, 0, 1, 1, 1, 1],
            "special_tokens_mask": [1, 0, 1, 1, 0, 0, 1],
        }


def test_places_are_those_of_the_pieces_in_the_layout_of_the_tokenizer():
    layout = PieceLayout.of_pair(Brackets())
    source, target = [[1, 2], [3]], [[4], [5, 6], [7]]
    ((pieces, types),), places, _ = layout.join([source, target], 11)
    assert pieces == [90, 1, 2, 3, 91, 92, 4, 5, 6, 7, 93]
    assert types == [0] * 5 + [1] * 6
    found = [
        [pieces[first : first + count] for _, first, count in side_places] for side_places in places
    ]
    assert found == [source, target]


def test_long_words_are_cut_where_the_pair_does_not_fit():
    layout = PieceLayout.of_pair(Brackets())
    inputs, (_, places), reading = layout.join([[[1]], [list(range(10, 30)), [2]]], 16)
    assert max(len(pieces) for pieces, _ in inputs) <= 16
    assert [place.num_pieces for place in places] == [3, 1] and reading.truncated
    whole, (_, places), reading = layout.join([[[1]], [list(range(10, 20)), [2]]], 16)
    assert (
        [place.num_pieces for place in places] == [10, 1]
        and reading == (1, False)
        and len(whole) == 1
    )
