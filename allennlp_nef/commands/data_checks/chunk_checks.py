from functools import lru_cache
from typing import Any, NamedTuple

from allennlp_nef.data.formats.chunks import chunks_of, is_allowed, split_tag


class _Step(NamedTuple):
    """What a tag is after the tag before it."""

    begins_with_i: bool
    """Whether it continues a chunk of its type, where there is none."""
    has_needless_b: bool
    """Whether it is a B that IOB1 would not have."""
    breaks_bioul: bool
    is_bioul: bool


class ChunkChecks:
    """Finds the scheme of chunk tags as they stand in their files, and the tags that do not fit it.

    - BIOUL (also BIOES): some tag begins with L, U, E or S. A tag does not fit where `is_allowed` says so.
    - IOB1: chunks begin with I, and with B only after another chunk of their type. All sequences of these fit.
    - BIO: else. A chunk that begins with I does not fit.
    """

    def __init__(self) -> None:
        self.count = 0
        """Chunks, as `conlleval` counts them."""
        self._counts = [0] * len(_Step._fields)
        self._first: list[str | None] = [None] * len(_Step._fields)

    def add(self, tags: list[str], place: str) -> None:
        """Counts the tags of a sentence."""
        self.count += len(chunks_of(tags))
        for before, tag in zip(["O", *tags], [*tags, None]):
            for i, found in enumerate(_step(before, tag)):
                if found:
                    self._counts[i] += 1
                    self._first[i] = self._first[i] or place

    def as_json(self) -> dict[str, Any]:
        """The scheme, the number of chunks, and how many tags do not fit, with the first sentence of these."""
        counts, first = _Step(*self._counts), _Step(*self._first)  # type: ignore[arg-type]
        if counts.is_bioul:
            scheme, count, place = "BIOUL", int(counts.breaks_bioul), first.breaks_bioul
        elif counts.begins_with_i and not counts.has_needless_b:
            scheme, count, place = "IOB1", 0, None
        else:
            scheme, count, place = "BIO", int(counts.begins_with_i), first.begins_with_i
        return {"scheme": scheme, "count": self.count, "ill_formed": count, "first": place}


@lru_cache(maxsize=2**14)
def _step(before: str, tag: str | None) -> _Step:
    """A tag after another; None after the last."""
    prefix, kind = split_tag(tag or "O")
    begins = bool(kind) and kind != split_tag(before)[1]
    return _Step(
        begins and prefix in "ILE",
        begins and prefix == "B",
        not is_allowed(before, tag, "BIOUL"),
        prefix in "LUES",
    )
