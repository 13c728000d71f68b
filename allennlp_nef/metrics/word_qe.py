"""Scores of word-level quality estimation, and which labels mean BAD."""

from collections.abc import Mapping
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.formats.error_spans import has_severities, is_word_qe
from allennlp_nef.metrics.counting_metric import CountingMetric, ProbabilityMetric
from allennlp_nef.metrics.tag_scores import word_qe_scores
from allennlp_nef.metrics.thresholds import OBJECTIVES, threshold_scores


class BadLabels:
    """Which tags of word-level quality estimation are BAD: those with this name; of severities, all but OK.

    A gold tag that the vocabulary lacks is -1. It is BAD if the name is what the vocabulary lacks, or the labels are
    severities.

    # Parameters

    labels : `Mapping[str, int]`
        The indices of the labels.
    name : `str`, optional (default = `"BAD"`)
    """

    def __init__(self, labels: Mapping[str, int], name: str = "BAD") -> None:
        self.has_severities = has_severities(labels) and is_word_qe(labels)
        self._index = labels["OK"] if self.has_severities else labels.get(name, -1)

    def are(self, tags: Any) -> Any:
        """Whether each tag, by its index, is BAD."""
        return tags != self._index if self.has_severities else tags == self._index

    def probabilities(self, table: Any) -> Any:
        """Probabilities (words, labels) -> those of BAD (words,); 0 where the vocabulary lacks it."""
        if self.has_severities:
            return 1 - table[:, self._index]
        return table[:, self._index] if self._index >= 0 else 0 * table[:, 0]


@Metric.register("word_qe")
class WordQeMetric(CountingMetric):
    """The scores of the WMT shared tasks on word-level quality estimation, over the whole data set.

    `f1_ok` and `f1_bad` are the F1 of each label, `f1_mult` their product (the primary score of WMT16), `mcc` the
    Matthews correlation coefficient (the primary score since WMT20), and `accuracy`. All in [0, 1] but `mcc`, in [-1,
    1]. Severities (minor and major) count as BAD. What would divide by zero is 0: a tagger that never predicts BAD has
    `f1_bad`, `f1_mult` and `mcc` of 0.

    Registered as a `Metric` with name "word_qe".

    # Parameters

    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    ok_label, bad_label : `str`, optional (default = `"OK"`, `"BAD"`)
    """

    def __init__(
        self,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        ok_label: str = "OK",
        bad_label: str = "BAD",
    ) -> None:
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        self._bad = BadLabels(labels, bad_label)
        if not self._bad.has_severities and set(labels) - {ok_label, bad_label}:
            raise ConfigurationError(
                f"word_qe: expected the labels {ok_label} and {bad_label}, got {', '.join(labels)}"
            )
        self.reset()

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> None:
        """Predicted and gold tags, and the mask: each (batch, tokens)."""
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        is_bad, is_tagged = self._bad.are(gold), self._bad.are(predictions)
        cells = [is_bad & is_tagged, is_bad & ~is_tagged, ~is_bad & is_tagged, ~is_bad & ~is_tagged]
        self.add((torch.stack(cells) & mask).flatten(1).sum(-1))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(4, dtype=numpy.int64)  # the confusion matrix

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        return word_qe_scores(counts.tolist())


# Thresholds whose logits lie 0.0016 apart. The first and the last one are 1e-7 and 1 - 1e-7.
_THRESHOLDS = 1 / (1 + numpy.exp(-numpy.linspace(-16, 16, 20_001)))


@Metric.register("best_threshold_word_qe")
class BestThresholdWordQe(ProbabilityMetric):
    """The scores of word-level quality estimation at the threshold of the probability of BAD that is best for them.

    `best_mcc` is the highest MCC, and `best_threshold_mcc` the threshold: a word is BAD where its probability of BAD is
    at least that. `best_f1_mult` and `best_threshold_f1_mult` are those of F1-MULT. They tell how well the model ranks
    the words, whatever its threshold is. With `"validation_metric": "+best_mcc"` a training picks its epoch by that,
    and `allennlp-nef calibrate` finds the threshold later.

    The thresholds that are tried are 20,001, of which the logits lie 0.0016 apart. The scores at each are exact, over
    the whole data set. Severities (minor and major) count as BAD. Of several best ones it is the highest. Without
    words, all are 0.

    Registered as a `Metric` with name "best_threshold_word_qe".

    # Parameters

    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    """

    is_slow = True

    def __init__(self, vocab: Vocabulary, label_namespace: str = "labels") -> None:
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        self._bad = BadLabels(labels)
        if not self._bad.has_severities and set(labels) - {"OK", "BAD"}:
            raise ConfigurationError(
                f"best_threshold_word_qe: expected the labels OK and BAD, got {', '.join(labels)}"
            )
        self._thresholds = torch.from_numpy(_THRESHOLDS)
        self.reset()

    @overrides
    def add_words(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor,
        probabilities: torch.Tensor,
    ) -> None:
        bad, is_bad = self._bad.probabilities(probabilities), self._bad.are(gold)
        self._thresholds = self._thresholds.to(bad.device)
        # How many of the thresholds a word reaches.
        reached = torch.bucketize(bad.contiguous(), self._thresholds, right=True)
        cells = reached + is_bad.long() * (len(_THRESHOLDS) + 1)
        counts = cells.new_zeros(2 * len(_THRESHOLDS) + 2).index_add_(0, cells, mask.long())
        self.add(counts.view(2, -1))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        # OK and BAD words by how many of the thresholds they reach.
        return numpy.zeros((2, len(_THRESHOLDS) + 1), dtype=numpy.int64)

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        # At each threshold, the OK and the BAD words that reach it.
        ok, bad = counts[:, ::-1].cumsum(1)[:, -2::-1]
        words = float(counts.sum())
        arrays = threshold_scores(bad, ok + bad, float(counts[1].sum()), words)
        scores = {}
        for objective in OBJECTIVES:
            values = arrays[objective]
            best = len(values) - 1 - int(numpy.argmax(values[::-1]))  # the highest of several
            scores[f"best_{objective}"] = float(values[best])
            scores[f"best_threshold_{objective}"] = float(_THRESHOLDS[best]) if words else 0.0
        return scores
