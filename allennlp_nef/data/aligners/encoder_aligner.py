"""A word aligner that needs no aligned sentences: it compares the states of words in a pretrained transformer."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.errors import unknown_option
from allennlp_nef.pretrained import (
    layers_of,
    limit_of,
    load_tokenizer,
    load_transformer,
    share_weights,
)

METHODS = ("argmax", "itermax")
ITERATIONS = 2
DISCOUNT = 0.9
"""Of the similarity of words of which one has a link, in the later iterations of itermax."""
MAX_PIECES = 4096
"""Of the sentences that are read together, with padding."""
ALIGNED_TOGETHER = 256
"""So many sentence pairs are worth one call."""
MAX_KEPT = 200_000
"""Sentence pairs whose links are kept."""
Words = Sequence[str]
Link = tuple[int, int]


class EncoderAligner:
    """Aligns words by the similarity of their states in a layer of a pretrained transformer.

    SimAlign, of Jalili Sabet et al. (Findings of EMNLP 2020): the transformer reads each sentence alone. The vector of
    a word is the mean of the states of its pieces, and words are compared by their cosine. With "argmax" two words are
    linked where each is the most similar one to the other. With "itermax" (their Algorithm 1) this is done twice; in
    the second round a word that has a link can get one more, to a word without. The transformer has to know both
    languages. A sentence that is longer than what it reads at once is read in parts.

    Links are kept: a pair that comes again costs nothing.

    # Parameters

    model_name : `str`
        A name on huggingface.co, or a folder.
    layer : `int`, optional (default = `6`)
        At least 1: the layer whose states are compared. Layers above it are not computed. The default is the best one
        of multilingual-e5-small on MLQE-PE English-German; the paper takes layer 8 of encoders of 768 dimensions.
    method : `str`, optional (default = `"argmax"`)
        "argmax" or "itermax", which finds more links, and more wrong ones.

    # Raises

    `ConfigurationError`: the transformer cannot be found, or it has no such layer; another method.
    """

    def __init__(self, model_name: str, layer: int = 6, method: str = "argmax") -> None:
        if method not in METHODS:
            raise ConfigurationError(
                f"method: expected one of {', '.join(METHODS)}, got {method!r}"
            )
        self.method = method
        self._tokenizer = load_tokenizer(model_name)
        self._transformer = load_transformer(model_name).eval().requires_grad_(False)
        layers = layers_of(self._transformer)
        if type(layer) is not int or not 1 <= layer <= len(layers):
            raise ConfigurationError(
                f"layer: expected an integer from 1 to {len(layers)}, the layers of the transformer, got {layer!r}"
            )
        del layers[layer:]
        self._shared_weights = share_weights(self._transformer.parameters())
        encoded = self._tokenizer("a", return_special_tokens_mask=True)
        pieces, is_special = encoded["input_ids"], encoded["special_tokens_mask"]
        first, last = is_special.index(0), len(pieces) - is_special[::-1].index(0)
        self._special = pieces[:first], pieces[last:]
        limit = min(limit_of(self._transformer) or 512, self._tokenizer.model_max_length, 512)
        self._room = limit - sum(map(len, self._special))
        self._links: dict[bytes, numpy.ndarray] = {}

    def align(self, source: Words, target: Words) -> list[Link]:
        """The links, as pairs (source index, target index), from 0 and sorted."""
        return self.align_all([(source, target)])[0]

    def align_all(self, pairs: Sequence[tuple[Words, Words]]) -> list[list[Link]]:
        """The links of sentence pairs, of which many are read at once."""
        keys = [hashlib.md5(repr(pair).encode(), usedforsecurity=False).digest() for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs) if key not in self._links}
        texts = [side for pair in new.values() for side in pair]
        vectors = self._vectors(texts)
        for number, key in enumerate(new):
            similarities = vectors[2 * number] @ vectors[2 * number + 1].T
            self._links[key] = numpy.argwhere(links_of(similarities.numpy(), self.method))
        links = [[(i, j) for i, j in self._links[key].tolist()] for key in keys]
        while len(self._links) > MAX_KEPT:
            self._links.pop(next(iter(self._links)))
        return links

    def _vectors(self, texts: Sequence[Words]) -> list[torch.Tensor]:
        """The vectors of the words of each text, of length 1: (words, dim). Parts of texts are read by their length."""
        pieces = [self._pieces(text) for text in texts]
        parts = [
            (number, part) for number, words in enumerate(pieces) for part in self._parts(words)
        ]
        order = sorted(range(len(parts)), key=lambda i: sum(map(len, parts[i][1])))
        vectors: list[torch.Tensor] = [torch.empty(0)] * len(parts)
        while order:
            longest = sum(map(len, parts[order[-1]][1])) + sum(map(len, self._special))
            size = max(1, MAX_PIECES // longest)
            batch, order = order[-size:], order[:-size]
            for i, states in zip(batch, self._states([parts[i][1] for i in batch])):
                vectors[i] = states
        of_text: list[list[torch.Tensor]] = [[] for _ in texts]
        for (number, _), rows in zip(parts, vectors):
            of_text[number].append(rows)
        return [torch.cat(rows) for rows in of_text]

    def _pieces(self, words: Words) -> list[list[int]]:
        """The pieces of each word, at least one, and no more than are read at once."""
        if not words:
            return []
        encoded = self._tokenizer(list(words), add_special_tokens=False, verbose=False)["input_ids"]
        return [(word or [self._tokenizer.unk_token_id])[: self._room] for word in encoded]

    def _parts(self, words: list[list[int]]) -> Iterable[list[list[int]]]:
        """The words in parts that can be read at once."""
        begin = size = 0
        for number, word in enumerate(words):
            if size + len(word) > self._room:
                yield words[begin:number]
                begin, size = number, 0
            size += len(word)
        yield words[begin:]

    def _states(self, parts: Sequence[list[list[int]]]) -> list[torch.Tensor]:
        """The vectors of the words of each part: (words, dim)."""
        before, after = self._special
        rows = [torch.tensor([*before, *sum(words, []), *after]) for words in parts]
        ids = pad_sequence(rows, True, self._tokenizer.pad_token_id or 0)
        lengths = torch.tensor(list(map(len, rows)))
        mask = torch.arange(ids.size(1)) < lengths.unsqueeze(1)
        with torch.no_grad():
            states = self._transformer(ids, attention_mask=mask).last_hidden_state
        vectors = []
        for words, row in zip(parts, states):
            counts = torch.tensor(list(map(len, words)), dtype=torch.long)
            numbers = torch.arange(len(words)).repeat_interleave(counts)
            own = row[len(before) : len(before) + len(numbers)]
            sums = own.new_zeros(len(words), own.size(-1)).index_add(0, numbers, own)
            vectors.append(torch.nn.functional.normalize(sums, dim=-1))
        return vectors


def links_of(similarities: numpy.ndarray, method: str) -> numpy.ndarray:
    """The links of words: bool, (source words, target words).

    # Parameters

    similarities : `numpy.ndarray`, (source words, target words)
        In [-1, 1].
    method : `str`
        One of `METHODS`.
    """
    if not similarities.size:
        return numpy.zeros(similarities.shape, dtype=bool)
    links = mutual_argmax(similarities)
    for _ in range(1, ITERATIONS if method == "itermax" else 1):
        sources, targets = links.any(1, keepdims=True), links.any(0, keepdims=True)
        scores = (similarities + 1) / 2 * numpy.where(sources | targets, DISCOUNT, 1)
        is_done = sources & targets
        links |= mutual_argmax(numpy.where(is_done, -1, scores)) & ~is_done
    return links


def mutual_argmax(scores: numpy.ndarray) -> numpy.ndarray:
    """Which scores are the highest of their row and of their column, the first of equal ones: bool."""
    links = numpy.zeros(scores.shape, dtype=bool)
    columns = scores.argmax(1)
    rows = scores.argmax(0)
    for row, column in enumerate(columns):
        links[row, column] = rows[column] == row
    return links


def encoder_aligner(options: Mapping[str, Any]) -> EncoderAligner:
    """The aligner of a config. Those with the same options are one, as those of the two readers of a training.

    # Raises

    `ConfigurationError`: another option, and what `EncoderAligner` raises it for.
    """
    known = signature(EncoderAligner).parameters
    for name in options:
        if name not in known:
            raise ConfigurationError(unknown_option("aligner", name, known))
    if not isinstance(options.get("model_name"), str):
        raise ConfigurationError(
            f"aligner: model_name: expected a name or a folder, got {options.get('model_name')!r}"
        )
    return _cached(json.dumps(options, sort_keys=True))


@lru_cache(maxsize=1)
def _cached(options: str) -> EncoderAligner:
    try:
        return EncoderAligner(**json.loads(options))
    except ConfigurationError as error:
        raise type(error)(f"aligner: {error}") from error
