"""What a transformer reads of a pair of sentences: pieces with the special ones, in parts where the pair is long."""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

Pieces = Sequence[Sequence[int]]
"""The pieces of each word of a sentence."""
Window = tuple[int, int]
"""The first word, and the word after the last."""
MIN_ROOM = 4
"""So many pieces besides the special ones are read at once, at least."""


class PairPart(NamedTuple):
    """A window of the words of each sentence, read together."""

    source: Window
    target: Window


class Place(NamedTuple):
    """Where the pieces of a word are."""

    part: int
    first: int
    num_pieces: int


class PairLayout:
    """The layout in which a tokenizer joins two sentences.

    # Parameters

    tokenizer : `PreTrainedTokenizerBase`
    """

    def __init__(self, tokenizer: Any) -> None:
        joined = tokenizer("a", "b", return_special_tokens_mask=True, return_token_type_ids=True)
        pieces = list(zip(joined["input_ids"], joined["token_type_ids"]))
        words = [
            place
            for place, is_special in enumerate(joined["special_tokens_mask"])
            if not is_special
        ]
        first = len(tokenizer("a", add_special_tokens=False)["input_ids"])
        sides = words[:first], words[first:]
        # The special pieces around the two sentences, with their types, and the types of the sentences.
        self._special = (
            pieces[: sides[0][0]],
            pieces[sides[0][-1] + 1 : sides[1][0]],
            pieces[sides[1][-1] + 1 :],
        )
        self._types = [pieces[side[0]][1] for side in sides]
        self.num_special = sum(map(len, self._special))

    def _join(self, texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """The pieces of two sentences with the special ones, and the types of all."""
        before, between, after = self._special
        first, second = (
            [(piece, type_) for piece in text] for text, type_ in zip(texts, self._types)
        )
        pieces = [*before, *first, *between, *second, *after]
        return [piece for piece, _ in pieces], [type_ for _, type_ in pieces]

    def join(
        self, pair: Sequence[Pieces], max_length: int
    ) -> tuple[list[tuple[list[int], list[int]]], list[list[Place]]]:
        """The pieces of each part with their types, and the place of each word of each sentence of the pair.

        In a pair that does not fit into one part, words with more than a quarter of the room are cut.
        """
        room = max_length - self.num_special
        cut = sum(len(pieces) for side in pair for pieces in side) > room
        sides = [[pieces[: room // 4] if cut else pieces for pieces in side] for side in pair]
        ends = [[0, *accumulate(map(len, side))] for side in sides]
        parts = split_pair(ends[0], ends[1], room)
        inputs, first_pieces = [], []
        for part in parts:
            texts = [list(chain(*side[slice(*window)])) for side, window in zip(sides, part)]
            inputs.append(self._join(texts))
            before, between, _ = map(len, self._special)
            first_pieces.append((before, before + len(texts[0]) + between))
        places: list[list[Place]] = [[], []]
        for side, windows in enumerate(zip(*parts)):
            num_words = len(sides[side])
            for word in range(num_words):
                best = best_part(word, windows, num_words)
                first = first_pieces[best][side] + ends[side][word] - ends[side][windows[best][0]]
                places[side].append(Place(best, first, len(sides[side][word])))
        return inputs, places


def split_pair(source_ends: Sequence[int], target_ends: Sequence[int], room: int) -> list[PairPart]:
    """The parts of a pair; one where it fits.

    A sentence that fits into half of the room, or into what the other leaves, is whole in each part. Else its windows
    move from its start to its end in equal steps of at most half of a window, in both sentences at once: a part is from
    about the same place of both. Each word of either sentence is in at least one part.

    # Parameters

    source_ends, target_ends : `Sequence[int]`
        0, and for each word the number of pieces up to its end. In a pair that does not fit, a word has at most a
        quarter of `room`.
    room : `int`
        At least `MIN_ROOM`: the pieces of a part, without special ones.
    """
    lengths = source_ends[-1], target_ends[-1]
    source_room = min(lengths[0], max(room // 2, room - lengths[1]))
    rooms = source_room, min(lengths[1], room - source_room)
    rests = [length - size for length, size in zip(lengths, rooms)]
    steps = max(-(-rest // max(1, size // 2)) for rest, size in zip(rests, rooms))
    return [
        PairPart(
            _window(source_ends, step * rests[0] // max(1, steps), rooms[0]),
            _window(target_ends, step * rests[1] // max(1, steps), rooms[1]),
        )
        for step in range(steps + 1)
    ]


def _window(ends: Sequence[int], begin: int, room: int) -> Window:
    """The words whose pieces are all in [begin, begin + room)."""
    inside = [word for word, end in enumerate(ends) if begin <= end <= begin + room]
    return inside[0], inside[-1]


def best_part(word: int, windows: Sequence[Window], num_words: int) -> int:
    """The part with the most context of a word: that in which it is farthest from the ends of the window.

    The ends of the sentence do not count. Of several such parts it is the one at the place of the word.
    """

    def rank(part: int) -> tuple[int, float]:
        first, last = windows[part]
        left = word - first if first > 0 else num_words
        right = last - 1 - word if last < num_words else num_words
        distance = (part + 0.5) / len(windows) - (word + 0.5) / num_words
        return -min(left, right), abs(distance)

    return min((p for p, (first, last) in enumerate(windows) if first <= word < last), key=rank)
