"""From the scores of a tag head to what answers are made of: calibrated probabilities, thresholds, chunks."""

import math
from collections.abc import Sequence
from functools import cached_property

import torch
from torch.nn import functional

from allennlp_nef.data.formats.chunks import Chunk, are_chunk_tags, chunks_of
from allennlp_nef.data.formats.error_spans import is_word_qe
from allennlp_nef.modules.calibration import Acceptance, Calibration
from allennlp_nef.modules.tag_heads import ChainProbabilities, TagHead, bad_ids_of, word_qe_tags


class TagDecoder:
    """The decoding of a tag head, with a calibration, and for the labels of quality estimation with a threshold.

    # Parameters

    head : `TagHead`
    calibration : `Calibration`, optional (default = `None`)

    # Raises

    `ConfigurationError`: a calibration of other labels.
    """

    def __init__(self, head: TagHead, calibration: Calibration | None = None) -> None:
        self.head = head
        self.labels = head.labels
        self.is_word_qe = is_word_qe(self.labels)
        """Whether the labels are those of word-level quality estimation: OK and BAD, or OK and severities."""
        self.bad_ids = bad_ids_of(self.labels)
        self.has_chunks = are_chunk_tags(self.labels)
        """Whether the labels are those of chunks, such as entities."""
        self.calibrate(calibration)

    def calibrate(self, calibration: Calibration | None) -> None:
        """Uses a calibration from now on, or none. Raises `ConfigurationError` where it is of other labels."""
        if calibration is not None:
            calibration.check_labels(self.labels)
        self.calibration = calibration

    def __call__(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        thresholds: Sequence[float | None] | None = None,
    ) -> "Tagging":
        """The tagging of a batch: see `Tagging`."""
        return Tagging(self, scores, mask, thresholds)

    def calibrated(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Probabilities of the labels, (..., labels), calibrated."""
        if self.calibration is None:
            return probabilities
        return self.calibration.apply(probabilities, self.labels)

    def chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """The probabilities of each word, and of the next word given that this word has the label in `tags`."""
        return ChainProbabilities(
            *map(self.calibrated, self.head.chain_probabilities(scores, mask, tags))
        )

    def bad_probabilities(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Probabilities (..., labels) -> those of BAD, or of all severities together (...); 0 without such labels."""
        return probabilities[..., self.bad_ids].sum(-1)

    @property
    def threshold(self) -> float | None:
        """For the labels of quality estimation: the calibrated probability of BAD from which on tags are BAD; None
        where there is no such number."""
        if self.calibration is not None and self.calibration.threshold is not None:
            return self.calibration.threshold
        threshold = self.head.decode_threshold()
        if threshold is None or not self.is_word_qe:
            return None
        if len(self.bad_ids) > 1:  # calibrated, it depends on the shares of the severities
            return threshold if self.calibration is None else None
        table = torch.full((2,), 1 - threshold, dtype=torch.double)
        table[self.bad_ids] = threshold
        return float(self.calibrated(table)[self.bad_ids[0]])

    @property
    def acceptance(self) -> Acceptance | None:
        """Which sentences need no reviewer; None where the calibration does not say."""
        return None if self.calibration is None else self.calibration.acceptance

    def chunk_probabilities(
        self,
        probabilities: ChainProbabilities,
        mask: torch.Tensor,
        tags: torch.Tensor,
        chunks: Sequence[Sequence[Chunk]],
    ) -> list[list[float]]:
        """The probability of each chunk of a tagging.

        It is the probability that the words of the chunk have their tags, and that the next word does not continue the
        chunk; `allennlp_nef.data.formats.chunks` states when a word does. Where only well-formed sequences are
        probable, as under constraints, it is the probability that the sentence has exactly this chunk.

        # Parameters

        probabilities : `ChainProbabilities`
            Those of the same `tags`.
        mask : `torch.BoolTensor`, (batch, tokens)
        tags : `torch.LongTensor`, (batch, tokens)
            The tagging.
        chunks : `Sequence[Sequence[Chunk]]`
            The chunks of each sentence's tags.

        # Raises

        `ValueError`: the labels are not chunk tags.
        """
        words, next_words = probabilities
        own = words.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
        next_own = next_words.gather(-1, tags[:, 1:].unsqueeze(-1)).squeeze(-1)
        continues = self._continues.to(tags.device)[tags[:, :-1]]  # (batch, tokens - 1, labels)
        ends = next_words.masked_fill(continues, 0).sum(-1).masked_fill(~mask[:, 1:], 1)
        ends = functional.pad(ends, (0, 1), value=1.0)
        rows = zip(chunks, own.tolist(), next_own.tolist(), ends.tolist())
        return [
            [
                min(1.0, first[start] * math.prod(then[start : end - 1]) * last[end - 1])
                for start, end, _ in sentence
            ]
            for sentence, first, then, last in rows
        ]

    @cached_property
    def _continues(self) -> torch.Tensor:
        """Whether the column's label continues the chunk of the row's label: (labels, labels)."""
        pairs = [[chunks_of((a, b)) for b in self.labels] for a in self.labels]
        return torch.tensor(
            [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
        )


class Tagging:
    """The tags of a batch and their probabilities, each computed when it is asked for, and once.

    # Parameters

    tag_decoder : `TagDecoder`
    scores : `torch.Tensor`, (batch, tokens, labels)
    mask : `torch.BoolTensor`, (batch, tokens)
    thresholds : `Sequence[float]`, optional (default = `None`)
        One for each sentence: a word is BAD where its probability of BAD is at least this. None stands for that of the
        calibration. It has no effect on other labels than those of quality estimation.
    """

    def __init__(
        self,
        tag_decoder: TagDecoder,
        scores: torch.Tensor,
        mask: torch.Tensor,
        thresholds: Sequence[float | None] | None = None,
    ) -> None:
        self.tag_decoder, self.scores, self.mask = tag_decoder, scores, mask
        self._thresholds = thresholds

    @cached_property
    def uncalibrated(self) -> torch.Tensor:
        """The probability of each label of each word, without the calibration: (batch, tokens, labels)."""
        return self.tag_decoder.head.probabilities(self.scores, self.mask)

    @cached_property
    def probabilities(self) -> torch.Tensor:
        """The probability of each label of each word: (batch, tokens, labels); 0 in padding."""
        return self.tag_decoder.calibrated(self.uncalibrated)

    @cached_property
    def chain(self) -> ChainProbabilities:
        """The probabilities of each word, and of the next word given that this word has its tag."""
        return self.tag_decoder.chain_probabilities(self.scores, self.mask, self.tag_ids)

    @cached_property
    def error_free_probabilities(self) -> torch.Tensor | None:
        """The probability of each sentence to be free of errors, in float64: (batch,); None without an `Acceptance`."""
        acceptance = self.tag_decoder.acceptance
        if acceptance is None:
            return None
        bad = self.tag_decoder.bad_probabilities(self.probabilities.float())
        return acceptance.probabilities(bad, self.mask)

    @cached_property
    def tag_ids(self) -> torch.Tensor:
        """The tags of the answers: (batch, tokens); 0 in padding.

        The tags that the head decodes. With a threshold: BAD for the words whose probability of BAD is at least it, OK
        for the others. With severities, a BAD word has the more probable one.
        """
        tag_decoder = self.tag_decoder
        tags = tag_decoder.head.decode(self.scores, self.mask)
        own = None if tag_decoder.calibration is None else tag_decoder.calibration.threshold
        wanted = self._thresholds or [None] * len(tags)
        chosen = [own if threshold is None else threshold for threshold in wanted]
        if not tag_decoder.is_word_qe or all(threshold is None for threshold in chosen):
            return tags
        values = [math.nan if threshold is None else threshold for threshold in chosen]
        limits = torch.tensor(values, dtype=torch.double, device=tags.device).unsqueeze(-1)
        by_threshold = tags_by_threshold(self.probabilities.float(), limits, tag_decoder.labels)
        return torch.where(limits.isnan(), tags, by_threshold).masked_fill(~self.mask, 0)


def tags_by_threshold(
    probabilities: torch.Tensor, thresholds: torch.Tensor, labels: Sequence[str]
) -> torch.Tensor:
    """OK, or the most probable label of the others where the probability of BAD is at least a threshold.

    # Parameters

    probabilities : `torch.Tensor`, (batch, tokens, labels)
    thresholds : `torch.DoubleTensor`, which broadcasts to (batch, tokens)
        In float64, as the probabilities are compared: those of an answer, in float32, are exact beside it.
    labels : `Sequence[str]`
        Those of quality estimation, by index.

    # Returns

    `torch.Tensor`: (batch, tokens), also in padding.
    """
    bad = probabilities[..., bad_ids_of(labels)]
    return word_qe_tags(probabilities, bad.sum(-1).double() >= thresholds, labels)
