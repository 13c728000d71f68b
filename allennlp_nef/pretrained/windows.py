"""Windows of texts that are longer than a pretrained transformer can read."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # importing transformers takes a second
    from transformers import PreTrainedTokenizerBase

MIN_ROOM = 4  # pieces in a window besides special tokens


class SpecialTokensTemplate:
    """The special tokens that a tokenizer adds to a sentence or to a pair of sentences, and the types of all pieces.

    `[CLS] source [SEP] target [SEP]` for BERT, `<s> source </s></s> target </s>` for XLM-R.

    # Parameters

    tokenizer : `PreTrainedTokenizerBase`
    num_sides : `int`
        1 for a sentence, 2 for a pair.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", num_sides: int) -> None:
        encoded = tokenizer(*[["a"]] * num_sides, is_split_into_words=True)
        sides, ids = encoded.sequence_ids(), encoded["input_ids"]
        types = encoded.get("token_type_ids", [0] * len(ids))
        # (None, id, type) for a special token, (side, _, type) for a sentence.
        self._slots = [
            (side, id_, type_)
            for place, (side, id_, type_) in enumerate(zip(sides, ids, types))
            if side is None or side not in sides[:place]
        ]
        self.num_special = sides.count(None)

    def fill(self, sides: Sequence[list[int]]) -> tuple[list[int], list[int], list[int]]:
        """Returns the ids and types of the pieces in a window, and the position at which each side begins."""
        ids: list[int] = []
        types: list[int] = []
        starts: list[int] = []
        for side, special, type_ in self._slots:
            if side is not None:
                starts.append(len(ids))
            ids += [special] if side is None else sides[side]
            types += [type_] * (len(ids) - len(types))
        return ids, types, starts


class WindowSlice(NamedTuple):
    """The pieces [begin, end) of a sentence that a window reads, and those whose vectors it provides."""

    begin: int
    end: int
    first: int
    last: int


def windows_of(lengths: Sequence[int], room: int) -> list[tuple[WindowSlice, ...]]:
    """Splits a text into windows that overlap by at least half, or a single window if it fits.

    Windows move through both sentences of a pair at once, in equal steps. A sentence that fits into half of the room,
    or into the room that the other sentence leaves, is complete in each window. Pieces get their vectors from the
    window with the nearest center or, in such a sentence, from windows that provide equal parts of it.

    # Parameters

    lengths : `Sequence[int]`
        The number of pieces of the sentence, or of each sentence of a pair.
    room : `int`
        The number of pieces in a window, at least `MIN_ROOM`.

    # Returns

    `list[tuple[WindowSlice, ...]]`: for each window, a slice of each sentence.
    """
    sizes = list(lengths)
    if sum(lengths) > room:
        sizes[0] = min(lengths[0], max(room // len(lengths), room - sum(lengths[1:])))
        sizes[1:] = [room - sizes[0]] * (len(lengths) - 1)
    steps = max(
        -(-(length - size) // max(1, size // 2))  # rounded up
        for length, size in zip(lengths, sizes)
    )
    sides = []
    for length, size in zip(lengths, sizes):
        begins = [step * (length - size) // max(1, steps) for step in range(steps + 1)]
        if size < length:
            cuts = [(left + right + size) // 2 for left, right in pairwise(begins)]
        else:
            cuts = [step * length // (steps + 1) for step in range(1, steps + 1)]
        kept = pairwise([0, *cuts, length])
        sides.append([WindowSlice(begin, begin + size, *ends) for begin, ends in zip(begins, kept)])
    return list(zip(*sides))
