from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.formats.chunks import are_chunk_tags, chunks_of
from allennlp_nef.runner.linear_chain import Chain, Marginals, calibrated, softmax


class Tagging(NamedTuple):
    """What a batch is tagged with."""

    tag_ids: numpy.ndarray
    """(batch, tokens)."""
    marginals: Marginals


class Head:
    """The tag head of an exported tagger: tags and probabilities from scores.

    # Parameters

    settings : `dict[str, Any]`
        The object `head` of `tagger.json`.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.labels: list[str] = settings["labels"]
        self.bad_ids: list[int] = settings["bad_ids"]
        self.threshold: float | None = settings["threshold"]
        self._decides_by_threshold = settings["decides_by_threshold"]
        self._weights = numpy.array(settings["label_weights"])
        chain = settings["chain"]
        self._chain = chain and Chain(*map(numpy.array, chain))
        self._calibration = settings["calibration"]
        self.has_chunks = are_chunk_tags(self.labels)
        pairs = [
            [chunks_of((a, b)) if self.has_chunks else [] for b in self.labels] for a in self.labels
        ]
        self._continues = numpy.array(
            [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
        )

    def tag(
        self, scores: numpy.ndarray, mask: numpy.ndarray, thresholds: Sequence[float | None]
    ) -> Tagging:
        """Tags and calibrated probabilities of a batch, from scores (batch, tokens, labels)."""
        scores = numpy.where(mask[..., None], scores, 0).astype(numpy.float64)
        if self._chain:
            tags = self._chain.viterbi(scores, mask)
            found = self._chain.marginals(scores, mask, tags)
            marginals = Marginals(*map(self._without_weights, found))
        else:
            tags = self._best_labels(scores)
            words = softmax(scores - numpy.log(self._weights)) * mask[..., None]
            marginals = Marginals(words, words[:, 1:])
        if self._calibration is not None:
            temperature, biases = self._calibration["temperature"], self._calibration["biases"]
            marginals = Marginals(
                *(calibrated(each, temperature, numpy.array(biases)) for each in marginals)
            )
        own = self.threshold if self._decides_by_threshold else None
        limits = numpy.array([own if each is None else each for each in thresholds], float)[:, None]
        if self.bad_ids and not numpy.isnan(limits).all():
            words = marginals.words.astype(numpy.float32)
            bad = numpy.array(self.bad_ids)[words[..., self.bad_ids].argmax(-1)]
            is_bad = words[..., self.bad_ids].sum(-1).astype(numpy.float64) >= limits
            by_threshold = numpy.where(is_bad, bad, self.labels.index("OK"))
            tags = numpy.where(numpy.isnan(limits), tags, by_threshold)
        return Tagging(numpy.where(mask, tags, 0), marginals)

    def _best_labels(self, scores: numpy.ndarray) -> numpy.ndarray:
        tags = scores.argmax(-1)
        if len(self.bad_ids) > 1:
            ok, bad = self.labels.index("OK"), scores[..., self.bad_ids]
            total = numpy.log(numpy.exp(bad - bad.max(-1, keepdims=True)).sum(-1)) + bad.max(-1)
            best = numpy.array(self.bad_ids)[bad.argmax(-1)]
            tags = numpy.where(scores[..., ok] > total, ok, best)
        return tags

    def _without_weights(self, marginals: numpy.ndarray) -> numpy.ndarray:
        """As `CrfTagHead` has it: probabilities from the marginals of a chain that was trained with label weights."""
        table = marginals * (1 - marginals + marginals / self._weights)
        return table / numpy.maximum(table.sum(-1, keepdims=True), 1e-300)

    def spans(self, tagging: Tagging, row: int, tokens: list[str]) -> list[dict[str, Any]]:
        """The chunks of a sentence, as `TagHead.chunk_probabilities` has them."""
        ids = tagging.tag_ids[row, : len(tokens)]
        words, next_words = (each[row] for each in tagging.marginals)
        own, places = words[numpy.arange(len(ids)), ids], numpy.arange(len(ids) - 1)
        following = next_words[: len(ids) - 1]
        next_own = following[places, ids[1:]]
        ends = [*numpy.where(self._continues[ids[:-1]], 0, following).sum(-1), 1.0]
        return [
            {
                **chunk._asdict(),
                "text": " ".join(tokens[chunk.start : chunk.end]),
                "probability": min(
                    1.0,
                    float(
                        own[chunk.start]
                        * next_own[chunk.start : chunk.end - 1].prod()
                        * ends[chunk.end - 1]
                    ),
                ),
            }
            for chunk in chunks_of([self.labels[i] for i in ids])
        ]
