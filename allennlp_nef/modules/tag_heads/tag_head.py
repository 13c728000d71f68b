import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from torch.nn import functional

from allennlp_nef.data.formats.chunks import Chunk, chunks_of
from allennlp_nef.data.formats.error_spans import SEVERITIES, is_word_qe
from allennlp_nef.modules.calibration import Calibration


class ChainProbabilities(NamedTuple):
    """The factors of the probability of a stretch of a tagging."""

    words: torch.Tensor
    """The probability of each label of each word: (batch, tokens, labels); 0 in padding."""
    next_words: torch.Tensor
    """The probability of each label of the next word, given the label of this one: (batch, tokens - 1, labels); 0 where
    the next word is padding."""


class TagHead(torch.nn.Module, Registrable):
    """The output layer of a tagger: scores, loss, decoding and probabilities.

    A subclass implements `scores`, `sentence_losses`, `decode` and `uncalibrated_probabilities`.

    # Parameters

    input_dim : `int`
        The dimension of the states; the model fills it in.
    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    label_weights : `dict[str, float]`, optional (default = `None`)
        The weights of words in the loss by their gold labels, above 0; 1 for a label that is not named.
    average : `str`, optional (default = `"sentence"`)
        What the loss of a batch, a sum over its words, is divided by: "sentence", the number of sentences (in the
        authors' implementation a batch is one); "token", the number of words; "none", in training nothing, and else the
        number of sentences, so that the loss of data does not depend on how they are cut into batches.
    """

    default_implementation = "softmax"
    step_losses_are_sentence_losses = True
    """Whether `step_losses` gives the same losses as `sentence_losses`."""
    label_weights: torch.Tensor

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        label_weights: dict[str, float] | None = None,
        average: str = "sentence",
    ) -> None:
        super().__init__()
        if average not in ("sentence", "token", "none"):
            raise ConfigurationError(
                f'average: expected "sentence", "token" or "none", got {average!r}'
            )
        self.input_dim = input_dim
        self.average = average
        names = vocab.get_index_to_token_vocabulary(label_namespace)
        self.num_labels = len(names)
        self.labels = [names[index] for index in range(self.num_labels)]
        self.is_word_qe = is_word_qe(self.labels)
        """Whether the labels are those of word-level quality estimation: OK and BAD, or OK and severities."""
        self.bad_ids = [i for i, label in enumerate(self.labels) if label in ("BAD", *SEVERITIES)]
        """The labels of words that are not OK, in quality estimation."""
        self.calibration: Calibration | None = None
        self._continues: torch.Tensor | None = None
        weights = torch.ones(self.num_labels)
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        for label, weight in (label_weights or {}).items():
            if label not in labels:
                raise ConfigurationError(
                    f"label_weights: expected labels among {', '.join(labels)}, got {label!r}"
                )
            if not 1e-30 < weight < 1e30:
                raise ConfigurationError(
                    f"label_weights: expected a number above 0 for {label!r}, got {weight}"
                )
            weights[labels[label]] = weight
        self.is_weighted = bool((weights != 1).any())
        self.register_buffer("label_weights", weights, persistent=False)

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """States (batch, tokens, input_dim) -> a score for each label (batch, tokens, labels)."""
        raise NotImplementedError

    def loss(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        tags: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch, a scalar: the `sentence_losses` times the sentences' weights (batch,), averaged."""
        losses = self.sentence_losses(scores, mask, tags)
        if weights is not None:
            losses = losses * weights.to(losses)
        return losses.sum() / self.loss_weight(mask).clamp(min=1).to(losses.dtype)

    def loss_weight(self, mask: torch.Tensor) -> torch.Tensor:
        """The weight of the loss of a batch in the mean over batches, a scalar: what it is divided by, never 0."""
        if self.average == "none" and self.training:
            return torch.ones((), device=mask.device)
        count = mask.sum() if self.average == "token" else mask.any(-1).sum()
        return count.float().clamp(min=1e-30)

    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The negative log-likelihood of the gold tags (batch, tokens), with label weights: (batch,)."""
        raise NotImplementedError

    def step_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        """The losses at a step, for `StepLoss`, (batch,): by default the `sentence_losses`.

        A subclass with another loss here sets `step_losses_are_sentence_losses` to False.
        """
        return self.sentence_losses(scores, mask, tags)

    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The best tags by the scores (batch, tokens); 0 in padding."""
        raise NotImplementedError

    def uncalibrated_probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each label of each word (batch, tokens, labels); 0 in padding.

        Label weights in the loss do not change what it is on average.
        """
        raise NotImplementedError

    def uncalibrated_chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """Those of `chain_probabilities`, without the calibration. In this class, words are independent."""
        probabilities = self.uncalibrated_probabilities(scores, mask)
        return ChainProbabilities(probabilities, probabilities[:, 1:])

    def bad_probabilities(self, probabilities: torch.Tensor) -> torch.Tensor:
        """Probabilities (..., labels) -> those of BAD, or of all severities together (...); 0 without such labels."""
        return probabilities[..., self.bad_ids].sum(-1)

    def decode_threshold(self) -> float | None:
        """For the labels of quality estimation: the uncalibrated probability of BAD from which on `decode` tags a word
        BAD.

        None where there is no such number, as here.
        """
        return None

    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The calibrated probability of each label of each word (batch, tokens, labels); 0 in padding."""
        return self._calibrated(self.uncalibrated_probabilities(scores, mask))

    def chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """The `probabilities`, and those of the next word given that this word has the label in `tags`."""
        chain = self.uncalibrated_chain_probabilities(scores, mask, tags)
        return ChainProbabilities(*map(self._calibrated, chain))

    def _calibrated(self, probabilities: torch.Tensor) -> torch.Tensor:
        if self.calibration is None:
            return probabilities
        return self.calibration.apply(probabilities, self.labels)

    def calibrate(self, calibration: Calibration | None) -> None:
        """Uses a calibration from now on, or none. Raises `ConfigurationError` where it is of other labels."""
        if calibration is not None:
            calibration.check_labels(self.labels)
        self.calibration = calibration

    @property
    def threshold(self) -> float | None:
        """For the labels of quality estimation: the calibrated probability of BAD from which on `tags` are BAD; None
        where there is no such number."""
        if self.calibration is not None and self.calibration.threshold is not None:
            return self.calibration.threshold
        threshold = self.decode_threshold()
        if threshold is None or not self.is_word_qe:
            return None
        if len(self.bad_ids) > 1:  # calibrated, it depends on the shares of the severities
            return threshold if self.calibration is None else None
        table = torch.full((2,), 1 - threshold, dtype=torch.double)
        table[self.bad_ids] = threshold
        return float(self._calibrated(table)[self.bad_ids[0]])

    def tags(
        self,
        scores: torch.Tensor,
        mask: torch.Tensor,
        thresholds: Sequence[float | None] | None = None,
    ) -> torch.Tensor:
        """The tags of the answers (batch, tokens), 0 in padding: those of `decode`, unless there is a threshold.

        # Parameters

        scores : `torch.Tensor`, (batch, tokens, labels)
        mask : `torch.BoolTensor`, (batch, tokens)
        thresholds : `Sequence[float]`, optional (default = `None`)
            One for each sentence: a word is BAD where its probability of BAD is at least this. None stands for that of
            the calibration. It has no effect on other labels than those of quality estimation. With severities, a BAD
            word has the more probable one.
        """
        tags = self.decode(scores, mask)
        own = None if self.calibration is None else self.calibration.threshold
        chosen = [own if each is None else each for each in thresholds or [None] * len(tags)]
        if not self.is_word_qe or all(each is None for each in chosen):
            return tags
        table = self.probabilities(scores, mask).float()
        limits = torch.tensor(
            [math.nan if each is None else each for each in chosen],
            dtype=torch.double,
            device=table.device,
        ).unsqueeze(-1)  # (batch, 1)
        by_threshold = self.tags_by_threshold(table, limits)
        return torch.where(limits.isnan(), tags, by_threshold).masked_fill(~mask, 0)

    def tags_by_threshold(
        self, probabilities: torch.Tensor, thresholds: torch.Tensor
    ) -> torch.Tensor:
        """OK, or the most probable label of the others where the probability of BAD is at least a threshold.

        # Parameters

        probabilities : `torch.Tensor`, (batch, tokens, labels)
        thresholds : `torch.DoubleTensor`, which broadcasts to (batch, tokens)
            In float64, as the probabilities are compared: those of an answer, in float32, are exact beside it.

        # Returns

        `torch.Tensor`: (batch, tokens), also in padding.
        """
        bad = probabilities[..., self.bad_ids].argmax(-1)
        tags = torch.tensor(self.bad_ids, device=bad.device)[bad]
        is_bad = self.bad_probabilities(probabilities).double() >= thresholds
        return tags.masked_fill(~is_bad, self.labels.index("OK"))

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
        continues = self._continuations(tags.device)[tags[:, :-1]]  # (batch, tokens - 1, labels)
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

    def _continuations(self, device: torch.device) -> torch.Tensor:
        """Whether the column's label continues the chunk of the row's label: (labels, labels)."""
        if self._continues is None:
            labels = self.labels
            pairs = [[chunks_of((a, b)) for b in labels] for a in labels]
            self._continues = torch.tensor(
                [[bool(pair) and pair[0][:2] == (0, 2) for pair in row] for row in pairs]
            )
        self._continues = self._continues.to(device)
        return self._continues
