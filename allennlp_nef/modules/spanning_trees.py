from collections.abc import Sequence

import numpy
from allennlp.nn.chu_liu_edmonds import decode_mst


def spanning_tree_heads(scores: numpy.ndarray, lengths: Sequence[int]) -> numpy.ndarray:
    """
    The heads of the tree with the highest score, in which one word is the root: Chu-Liu-Edmonds, as AllenNLP has it.

    Parameters and results are those of `projective_heads`. AllenNLP's function allows several roots. With a large
    number taken from the scores of all roots, the best tree has one, and is the best of those with one.
    """
    heads = numpy.zeros(scores.shape[:2], dtype=int)
    for row, length in enumerate(lengths):
        some = scores[row, :length, : length + 1].astype(float)
        numpy.fill_diagonal(some[:, 1:], 0)
        some[:, 0] -= 1 + length * (some.max() - some.min())
        energy = numpy.zeros((length + 1, length + 1))  # [head, word]
        energy[:, 1:] = some.T
        heads[row, :length] = decode_mst(energy, length + 1, has_labels=False)[0][1:]
    return heads
