import random

import pytest

from allennlp_nef.cli.align_words import symmetrize

#     0 1 2 3 4        F forward only, R reverse only, B both
#  0  B . . . .
#  1  . B F . .
#  2  . R . . .
#  3  . . . . F
#  4  . . . R .
#  5  R . . . .
FORWARD = [(0, 0), (1, 1), (1, 2), (3, 4)]
REVERSE = [(0, 0), (1, 1), (2, 1), (4, 3), (5, 0)]


@pytest.mark.parametrize(
    "method, expected",
    [
        ("forward", FORWARD),
        ("reverse", REVERSE),
        ("intersection", [(0, 0), (1, 1)]),
        ("union", sorted({*FORWARD, *REVERSE})),
        # (1, 2) and (2, 1) touch (1, 1), and a word of each has no link. The others touch nothing.
        ("grow-diag", [(0, 0), (1, 1), (1, 2), (2, 1)]),
        # (3, 4) and (4, 3): neither word has a link. (5, 0): target word 0 has one.
        ("grow-diag-final-and", [(0, 0), (1, 1), (1, 2), (2, 1), (3, 4), (4, 3)]),
    ],
)
def test_methods_give_what_a_person_finds(method, expected):
    assert symmetrize(FORWARD, REVERSE, method) == expected


def by_the_book(forward, reverse):
    """GROW-DIAG-FINAL-AND as Koehn et al. state it: whole passes over the matrix until nothing is added."""
    union, links = set(forward) | set(reverse), set(forward) & set(reverse)

    def free(side, index):
        return all(link[side] != index for link in links)

    added = True
    while added:
        added = False
        for link in sorted(links):
            for i in (link[0] - 1, link[0], link[0] + 1):
                for j in (link[1] - 1, link[1], link[1] + 1):
                    if (i, j) in union - links and (free(0, i) or free(1, j)):
                        links.add((i, j))
                        added = True
    for side in (forward, reverse):
        for i, j in sorted(side):
            if free(0, i) and free(1, j):
                links.add((i, j))
    return links


def test_random_alignments_are_close_to_those_of_the_book():
    """The order in which adjacent links are added is free, and may decide between two of them."""
    rng = random.Random(0)
    same = total = 0
    for _ in range(200):
        forward = [(rng.randrange(8), j) for j in range(8)]
        reverse = [
            pair if rng.random() < 0.5 else (i, rng.randrange(8)) for i, pair in enumerate(forward)
        ]
        found = set(symmetrize(forward, reverse))
        expected = by_the_book(forward, reverse)
        assert set(forward) & set(reverse) <= found <= set(forward) | set(reverse)
        same, total = same + len(found & expected), total + len(found | expected)
    assert same / total > 0.95
