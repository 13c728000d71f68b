"""Aligns words with eflomal (Östling and Tiedemann 2016) in both directions, and combines the directions."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from itertools import chain

from allennlp_nef.data.files import read_lines
from allennlp_nef.errors import UserError, require_extra
from allennlp_nef.qe.layouts import Link, parse_links

# eflomal skips longer sentences.
MAX_WORDS = 1023
# The adjacent links, straight ones first.
_ADJACENT = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
Sentence = tuple[list[str], list[str]]


def align_with_eflomal(sentences: Sequence[Sentence]) -> list[list[Link]]:
    """Returns the links of each sentence and its translation, combined from both directions of eflomal."""
    with require_extra("align", "align-words without --aligner"):
        import eflomal
    # eflomal splits words at any whitespace in them.
    texts = [
        [" ".join("_".join(word.split()) or "_" for word in words) + "\n" for words in side]
        for side in zip(*sentences)
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("forward", "reverse")]
        eflomal.Aligner().align(*texts, links_filename_fwd=paths[0], links_filename_rev=paths[1])
        directions = [list(read_lines(path)) for path in paths if os.path.exists(path)]
    # eflomal does not check the exit status of its program.
    if [len(lines) for lines in directions] != [len(sentences)] * 2:
        raise UserError("eflomal failed: it did not write alignments for all sentences")
    return [
        symmetrize(*(parse_links(line, len(s), len(t), "eflomal") for _, line in lines))
        for (s, t), *lines in zip(sentences, *directions)
    ]


def symmetrize(forward: Iterable[Link], reverse: Iterable[Link]) -> list[Link]:
    """Combines the alignments of two directions by grow-diag-final-and (Koehn et al., IWSLT 2005). Returns sorted
    links.

    The result starts with the links that both directions contain. A link of one direction that is adjacent to a link of
    the result, diagonals included, is added if one of its words has no link. Finally, links of the forward and then of
    the reverse direction are added if neither of their words has a link.
    """
    forward, reverse = sorted(set(forward)), sorted(set(reverse))
    union = {*forward, *reverse}
    links = {*forward} & {*reverse}
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links)
    while waiting:
        i, j = waiting.pop(0)
        for link in [(i + down, j + right) for down, right in _ADJACENT]:
            if link in union and (link[0] not in sources or link[1] not in targets):
                links.add(link)
                sources.add(link[0])
                targets.add(link[1])
                waiting.append(link)
    for i, j in chain(forward, reverse):
        if i not in sources and j not in targets:
            links.add((i, j))
            sources.add(i)
            targets.add(j)
    return sorted(links)
