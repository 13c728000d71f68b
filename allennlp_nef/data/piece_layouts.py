"""How pieces of words are laid out for a transformer: special pieces, two sentences in one, windows of long texts.

Without torch, as exported taggers use it, too.
"""

from collections.abc import Iterable, Sequence
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


class PartsRead(NamedTuple):
    """How a transformer reads a text."""

    windows: int
    """In how many parts; 1 where it reads the text at once."""
    truncated: bool
    """Whether pieces of long words are left out."""


class JoinedTexts(NamedTuple):
    """What a transformer reads of some texts."""

    parts: list[tuple[list[int], list[int]]]
    """The pieces of each part, with the special ones, and their types."""
    places: tuple[list[list[Place]], list[list[Place]]]
    """The place of each word, of the first sentence of each text and of the second one."""
    readings: list[PartsRead]
    """One a text."""


class PieceLayout:
    """The layout in which a tokenizer puts special pieces around the pieces of a sentence, or of a pair of sentences.

    A single sentence is a pair without a first one.

    # Parameters

    special : `Sequence[Sequence[tuple[int, int]]]`
        The special pieces before, between and after the two sentences, with their types.
    types : `Sequence[int]`
        The type of the pieces of the first sentence, and of the second one.
    """

    def __init__(self, special: Sequence[Sequence[tuple[int, int]]], types: Sequence[int]) -> None:
        self.special = special
        self.types = types
        self.num_special = sum(map(len, special))

    @classmethod
    def of_pair(cls, tokenizer: Any) -> "PieceLayout":
        """That of two sentences, by a tokenizer of transformers."""
        joined = tokenizer("a", "b", return_special_tokens_mask=True, return_token_type_ids=True)
        pieces = list(zip(joined["input_ids"], joined["token_type_ids"]))
        words = [
            place
            for place, is_special in enumerate(joined["special_tokens_mask"])
            if not is_special
        ]
        first = len(tokenizer("a", add_special_tokens=False)["input_ids"])
        sides = words[:first], words[first:]
        special = (
            pieces[: sides[0][0]],
            pieces[sides[0][-1] + 1 : sides[1][0]],
            pieces[sides[1][-1] + 1 :],
        )
        return cls(special, [pieces[side[0]][1] for side in sides])

    @classmethod
    def of_sentence(cls, tokenizer: Any) -> "PieceLayout":
        """That of one sentence, by a tokenizer of transformers."""
        encoded = tokenizer("a", return_special_tokens_mask=True, return_token_type_ids=True)
        pieces = list(zip(encoded["input_ids"], encoded["token_type_ids"]))
        is_special = encoded["special_tokens_mask"]
        first, last = is_special.index(0), len(pieces) - is_special[::-1].index(0)
        return cls((pieces[:first], [], pieces[last:]), [pieces[first][1]] * 2)

    def join_all(self, texts: Iterable[Sequence[Pieces]], max_length: int) -> JoinedTexts:
        """The parts of all texts, with places among these: see `join`."""
        joined = JoinedTexts([], ([], []), [])
        for text in texts:
            parts, places, reading = self.join(text, max_length)
            first = len(joined.parts)
            for known, new in zip(joined.places, places):
                known.append([Place(first + part, *place) for part, *place in new])
            joined.parts.extend(parts)
            joined.readings.append(reading)
        return joined

    def join(
        self, pair: Sequence[Pieces], max_length: int
    ) -> tuple[list[tuple[list[int], list[int]]], list[list[Place]], PartsRead]:
        """The pieces of each part with their types, the place of each word of each sentence of the pair, and how it is
        read.

        In a pair that does not fit into one part, words with more than a quarter of the room are cut.
        """
        room = max_length - self.num_special
        limit = room // 4
        is_long = sum(len(pieces) for side in pair for pieces in side) > room
        is_cut = is_long and any(len(pieces) > limit for side in pair for pieces in side)
        sides = [[pieces[:limit] for pieces in side] if is_cut else side for side in pair]
        ends = [[0, *accumulate(map(len, side))] for side in sides]
        windows_of_parts = split_pair(ends[0], ends[1], room)
        before, between, _ = map(len, self.special)
        parts, first_pieces = [], []
        for part in windows_of_parts:
            texts = [list(chain(*side[slice(*window)])) for side, window in zip(sides, part)]
            parts.append(self._with_special(texts))
            first_pieces.append((before, before + len(texts[0]) + between))
        places: list[list[Place]] = [[], []]
        for side, windows in enumerate(zip(*windows_of_parts)):
            num_words = len(sides[side])
            for word in range(num_words):
                best = best_part(word, windows, num_words) if len(windows) > 1 else 0
                first = first_pieces[best][side] + ends[side][word] - ends[side][windows[best][0]]
                places[side].append(Place(best, first, len(sides[side][word])))
        return parts, places, PartsRead(len(parts), is_cut)

    def _with_special(self, texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """The pieces of two sentences with the special ones, and the types of all."""
        before, between, after = self.special
        first, second = (
            [(piece, type_) for piece in text] for text, type_ in zip(texts, self.types)
        )
        pieces = [*before, *first, *between, *second, *after]
        return [piece for piece, _ in pieces], [type_ for _, type_ in pieces]


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
