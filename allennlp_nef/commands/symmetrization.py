"""Combines the alignments of the two directions."""

from collections.abc import Iterable, Sequence

Link = tuple[int, int]

METHODS = ("grow-diag-final-and", "grow-diag", "intersection", "union", "forward", "reverse")
_ADJACENT = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: Iterable[Link], reverse: Iterable[Link], method: str = METHODS[0]
) -> list[Link]:
    """One alignment from the two directions, sorted.

    "grow-diag" (Koehn et al., IWSLT 2005) begins with the links that both have, and adds links of either that are
    adjacent to one, also diagonally, as long as a word of theirs has no link. "grow-diag-final-and" then adds those
    links of the forward and then of the reverse alignment of which neither word has a link.

    # Parameters

    forward, reverse : `Iterable[tuple[int, int]]`
        Pairs (source index, target index), from 0.
    method : `str`, optional (default = `"grow-diag-final-and"`)
        One of `METHODS`.
    """
    forward, reverse = sorted(set(forward)), sorted(set(reverse))
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if method in ("forward", "reverse"):
        return forward if method == "forward" else reverse
    union = set(forward) | set(reverse)
    if method == "union":
        return sorted(union)
    links = set(forward) & set(reverse)
    if method.startswith("grow-diag"):
        _grow(links, union)
    if method.endswith("final-and"):
        for candidates in (forward, reverse):
            _add_unlinked(links, candidates)
    return sorted(links)


def _grow(links: set[Link], union: set[Link]) -> None:
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links)
    while waiting:
        added = []
        for i, j in waiting:
            for down, right in _ADJACENT:
                link = i + down, j + right
                has_room = link[0] not in sources or link[1] not in targets
                if link in union and has_room:
                    links.add(link)
                    sources.add(link[0])
                    targets.add(link[1])
                    added.append(link)
        waiting = sorted(added)


def _add_unlinked(links: set[Link], candidates: Sequence[Link]) -> None:
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    for i, j in candidates:
        if i not in sources and j not in targets:
            links.add((i, j))
            sources.add(i)
            targets.add(j)
