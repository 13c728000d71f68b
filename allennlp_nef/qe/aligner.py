"""A word aligner that learns from aligned sentences, and its file format. Only training needs more than NumPy.

A logistic regression predicts the probability of a link. Its features are how often the two words, and their first
letters, were linked in the training data, whether the words are similar, and how far the link is from the diagonal. Two
more rounds add the previous round's probabilities of the link, its best rivals and the adjacent links.
"""

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import numpy
from numpy import log, ndarray

from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.layouts import Link

ALIGNER_NAME = "aligner.json.gz"
SAME, SAME_PREFIX = 2, 1
MIN_PAIRS = 20  # sentence pairs to learn from
MAX_CELLS = 400_000  # word pairs that the regression is fitted to
MAX_BYTES = 2**26  # of the JSON in a file
_LENGTHS = (100, 3)  # of words and of their first letters
_NUM_ROUNDS = 3
_ADJACENT = ((-1, -1), (1, 1), (-1, 0), (1, 0), (0, -1), (0, 1))
_THRESHOLD = 0.42  # the smallest probability of a link; F1 is flat around it
_FORMAT = "allennlp_nef word aligner 2"
_NOT_GZIP = (gzip.BadGzipFile, zlib.error, EOFError)
_NOT_AN_ALIGNER = (*_NOT_GZIP, ValueError, LookupError, TypeError, AttributeError)


# The words of a source and of its translation, and their links.
AlignedPair = tuple[Sequence[str], Sequence[str], Sequence[Link]]
# The number of tokens of a source word (word, "") and of a target word ("", word), and of links (word, word).
Counts = Counter[tuple[str, str]]


def count_words(pairs: Iterable[AlignedPair]) -> Counts:
    """Counts the words of aligned sentences, in lower case, and their links."""
    counts: Counts = Counter()
    for source, target, links in pairs:
        sources, targets = _lower(source), _lower(target)
        counts.update((word, "") for word in sources)
        counts.update(("", word) for word in targets)
        counts.update((sources[i], targets[j]) for i, j in links)
    return counts


class Lexicon:
    """Counts of words and links, with words cut to `length` letters."""

    def __init__(self, counts: Counts, length: int) -> None:
        self.length = length
        self.counts: Counts = Counter()
        self.linked: Counts = Counter()
        for (word, other), count in counts.items():
            word, other = word[:length], other[:length]
            self.counts[word, other] += count
            if word and other:
                self.linked[word, ""] += count
                self.linked["", other] += count

    def features(self, source: Sequence[str], target: Sequence[str]) -> list[ndarray]:
        """Returns the features of each link; each can be broadcast to (source words, target words)."""
        sources, targets = ([word[: self.length] for word in side] for side in (source, target))
        # Much faster than the indexing of a `Counter` that lacks the key.
        get = self.counts.get
        links = numpy.array([[get((s, t), 0) for t in targets] for s in sources])
        tables = (self.counts, self.linked)
        n_s, linked_s = (numpy.array([[table[s, ""]] for s in sources]) for table in tables)
        n_t, linked_t = (numpy.array([[table["", t] for t in targets]]) for table in tables)
        rarer = numpy.minimum(n_s, n_t)
        return [
            log((links + 0.02) / (n_s + 1)),  # log p(target | source)
            log((links + 0.02) / (n_t + 1)),  # log p(source | target)
            log(links + 1),
            numpy.where(links > 0, 0, log(rarer + 1)),  # frequent words that were never linked
            log((linked_s + 1) / (n_s + 2)),
            log((linked_t + 1) / (n_t + 2)),
        ]


def similarity_matrix(target: Sequence[str], source: Sequence[str]) -> ndarray:
    """Returns the similarity of words as 8-bit integers (target words, source words).

    `SAME` for the same word, `SAME_PREFIX` for words with the same first four letters, and 0 for other words, in lower
    case. Such words are names, numbers, cognates and words that were left untranslated.
    """
    sources = [(word, word[:4]) for word in _lower(source)]
    rows = [
        [SAME if t == s else SAME_PREFIX if t[:4] == start else 0 for s, start in sources]
        for t in _lower(target)
    ]
    return numpy.array(rows, dtype=numpy.int8)


class WordAligner:
    """Links the words of a sentence with the words of its translation.

    # Parameters

    counts : `Counts`
        From `count_words`.
    weights : `Sequence[Sequence[float]]`
        The weights of the features in each round; the last one is the bias.
    """

    def __init__(self, counts: Counts, weights: Sequence[Sequence[float]]) -> None:
        self.counts = counts
        self.lexicons = [Lexicon(counts, length) for length in _LENGTHS]
        self.weights = weights

    def align(self, source: Sequence[str], target: Sequence[str]) -> list[Link]:
        """Returns the links of two sentences, as pairs (source index, target index), from 0 and sorted."""
        if not (source and target):
            return []
        features = self.features(source, target)
        first, *others = self.weights
        probabilities = _probabilities(first, features)
        for weights in others:
            probabilities = _probabilities(weights, _with_context(features, probabilities))
        return [(i, j) for i, j in numpy.argwhere(probabilities >= _THRESHOLD).tolist()]

    def features(self, source: Sequence[str], target: Sequence[str]) -> ndarray:
        """Returns the features of all links without the context: (source words, target words, features)."""
        sources, targets = _lower(source), _lower(target)
        similarity = similarity_matrix(target, source).T
        rows, columns = ((numpy.arange(len(side)) + 0.5) / len(side) for side in (source, target))
        distance = abs(rows[:, None] - columns)
        features = [
            each for lexicon in self.lexicons for each in lexicon.features(sources, targets)
        ]
        features += [similarity == SAME, similarity == SAME_PREFIX, distance, distance**0.5]
        return numpy.stack(numpy.broadcast_arrays(*features), -1)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower()[: _LENGTHS[0]] for word in words]


def _probabilities(weights: Sequence[float], features: ndarray) -> ndarray:
    *own, bias = weights
    return 1 / (1 + numpy.exp(-numpy.clip(features @ numpy.array(own) + bias, -50, 50)))


def _with_context(features: ndarray, p: ndarray) -> ndarray:
    """Appends features computed from a round's probabilities, (source words, target words)."""
    rows, columns = p.shape
    padded = numpy.zeros((rows + 2, columns + 2))
    padded[1:-1, 1:-1] = p
    adjacent = [padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i, j in _ADJACENT]
    odds = log((p + 1e-3) / (1 - p + 1e-3))
    context = numpy.stack([odds, _rivals(p), _rivals(p.T).T, *adjacent], -1)
    return numpy.concatenate([features, context], -1)


def _rivals(p: ndarray) -> ndarray:
    """Returns, for each probability, the highest of the others in its row; 0 if there are no others."""
    padded = numpy.zeros((len(p), p.shape[1] + 1))
    padded[:, 1:] = p
    padded.partition(-2)
    first, second = padded[:, -1:], padded[:, -2:-1]
    return numpy.where(p == first, second, first)


def learn_aligner(pairs: Iterable[AlignedPair]) -> WordAligner:
    """Learns an aligner from aligned sentences; pairs without links are ignored.

    Every eighth pair, or fewer, is held out: the weights are fitted to these pairs, with the counts of the other ones.
    The final counts include all pairs.

    # Raises

    `DataFormatError`: fewer than `MIN_PAIRS` pairs have links, or all words are linked.
    """
    pairs = [pair for pair in pairs if pair[2]]
    if len(pairs) < MIN_PAIRS:
        raise DataFormatError(
            f"aligner: expected at least {MIN_PAIRS} sentences with alignments, got {len(pairs)}"
        )
    step = max(8, len(pairs) // 1000)
    draft = WordAligner(count_words(p for i, p in enumerate(pairs) if i % step), [])
    features: list[ndarray] = []
    gold: list[ndarray] = []
    for source, target, links in pairs[::step]:
        if sum(map(len, gold)) < MAX_CELLS:
            features.append(draft.features(source, target))
            linked = numpy.zeros((len(source), len(target)), dtype=bool)
            linked[tuple(zip(*links))] = True
            gold.append(linked.ravel())
    labels = numpy.concatenate(gold)
    if labels.all():
        raise DataFormatError("aligner: expected words that are not linked, got none")
    weights: list[list[float]] = []
    tables = features
    for _ in range(_NUM_ROUNDS):
        if weights:
            found = [_probabilities(weights[-1], table) for table in tables]
            tables = list(map(_with_context, features, found))
        weights.append(_regression([cell for table in tables for cell in table], labels))
    return WordAligner(count_words(pairs), weights)


def _regression(tables: Sequence[ndarray], labels: ndarray) -> list[float]:
    """Returns the weights and bias of a logistic regression fitted to standardized features."""
    from sklearn.linear_model import LogisticRegression  # slow to import

    features = numpy.concatenate(tables)
    mean, deviation = features.mean(0), numpy.maximum(features.std(0), 1e-6)
    model = LogisticRegression(max_iter=300).fit((features - mean) / deviation, labels)
    weights = model.coef_[0] / deviation
    return [round(float(weight), 5) for weight in (*weights, model.intercept_[0] - weights @ mean)]


def save_aligner(aligner: WordAligner, path: str) -> None:
    """Writes an aligner as gzipped JSON. Equal aligners have equal files. Raises a `UserError` if it is larger than
    `MAX_BYTES`, which `load_aligner` would not read.
    """
    counts: dict[str, dict[str, int]] = {}
    for (source, target), count in sorted(aligner.counts.items()):
        counts.setdefault(source, {})[target] = count
    content = {"format": _FORMAT, "counts": counts, "weights": aligner.weights}
    data = json.dumps(content, separators=(",", ":")).encode()
    if len(data) > MAX_BYTES:
        raise UserError(
            f"{path}: an aligner of {len(data) >> 20} MiB is larger than {MAX_BYTES >> 20} MiB; learn it from fewer "
            "sentences"
        )
    with open(path, "wb") as file:
        file.write(gzip.compress(data, mtime=0))


def load_aligner(path: str, file: IO[bytes] | None = None) -> WordAligner:
    """Reads an aligner from a path, or from an open file; errors then use the path as its name. Raises a
    `DataFormatError` if the file is not an aligner or is larger than `MAX_BYTES`.
    """
    try:
        with gzip.open(file or path) as content_file:
            content = json.loads(content_file.read(MAX_BYTES))
        if content["format"] != _FORMAT:
            raise ValueError(f"the format is {content['format']}")
        rows = content["counts"].items()
        counts = {(source, target): n for source, row in rows for target, n in row.items()}
        return WordAligner(Counter(counts), content["weights"])
    except _NOT_AN_ALIGNER as error:
        raise DataFormatError(f"{path}:1: expected the file of a word aligner ({error})") from error


def archived_aligner(extras: Mapping[str, Any]) -> str | None:
    """Returns the path of the aligner in the archive being loaded, given the extras of `from_params`, or None.

    Training also passes its folder, but a file there is the output of a run that is being recovered.
    """
    path = os.path.join(extras.get("serialization_dir") or "", ALIGNER_NAME)
    is_archive = "serialization_dir" in extras and "local_rank" not in extras
    return path if is_archive and os.path.isfile(path) else None
