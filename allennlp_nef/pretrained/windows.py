"""The windows in which a pretrained encoder reads texts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

if TYPE_CHECKING:  # an optional package
    from tokenizers import Tokenizer

MIN_ROOM = 4  # pieces in a window besides special tokens


class SpecialTokensTemplate:
    """The special tokens that a tokenizer adds to a sentence or to a pair of sentences, and the types of all pieces.

    `[CLS] source [SEP] target [SEP]` for BERT, `<s> source </s></s> target </s>` for XLM-R.

    # Parameters

    tokenizer : `tokenizers.Tokenizer`
    num_sides : `int`
        1 for a sentence, 2 for a pair.
    """

    def __init__(self, tokenizer: "Tokenizer", num_sides: int) -> None:
        other = ["a"] if num_sides == 2 else None
        encoded = tokenizer.encode(["a"], other, is_pretokenized=True)
        sides = encoded.sequence_ids
        # (None, id, type) for a special token, (side, _, type) for a sentence.
        self.slots = [
            (side, id_, type_)
            for place, (side, id_, type_) in enumerate(zip(sides, encoded.ids, encoded.type_ids))
            if side is None or side not in sides[:place]
        ]
        self.num_special = sides.count(None)

    def fill(
        self, sides: Sequence[Tensor], begins: Tensor, ends: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Puts the pieces [begin, end) of each sentence into windows.

        # Parameters

        sides : `Sequence[Tensor]`, each (windows, pieces)
            The ids of all pieces of the sentence, or of each sentence of a pair, that a window reads.
        begins, ends : `Tensor`, (windows, sides)

        # Returns

        `tuple[Tensor, Tensor, Tensor, Tensor]`
            The ids and types of the pieces in each window, (windows, window pieces), and where they are not padding;
            the position in the window at which each sentence starts, (windows, sides).
        """
        special = torch.ones_like(begins[:, 0])
        lengths = [special if side is None else (ends - begins)[:, side] for side, *_ in self.slots]
        stops = torch.stack(lengths).cumsum(0)[..., None]  # (slots, windows, 1)
        positions = torch.arange(int(stops[-1].max()), device=begins.device)
        ids = types = torch.zeros_like(stops[0]).expand(-1, len(positions))
        starts = []
        for (side, special_id, type_), stop, length in zip(self.slots, stops, lengths):
            start = stop - length[:, None]
            is_inside = (positions >= start) & (positions < stop)  # (windows, window pieces)
            types = types.masked_fill(is_inside, type_)
            if side is None:
                ids = ids.masked_fill(is_inside, special_id)
                continue
            starts.append(start)
            places = (positions - start + begins[:, [side]]) * is_inside
            pieces = pad(sides[side], (0, 1))  # at least one, for `gather`
            ids = torch.where(is_inside, pieces.gather(1, places), ids)
        return ids, types, positions < stops[-1], torch.cat(starts, dim=1)


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
