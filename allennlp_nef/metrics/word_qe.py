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
from allennlp_nef.metrics.counting_metric import CountingMetric
from allennlp_nef.metrics.word_qe_counts import word_qe_scores


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
        is_bad, is_tagged = self._bad.are(gold[mask]), self._bad.are(predictions[mask])
        self.add(
            torch.stack(
                [is_bad & is_tagged, is_bad & ~is_tagged, ~is_bad & is_tagged, ~is_bad & ~is_tagged]
            ).sum(-1)
        )

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(4, dtype=numpy.int64)  # the confusion matrix

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        return word_qe_scores(counts.tolist())
