"""How good the probabilities and the tags of words are."""

from typing import NamedTuple

import numpy

from allennlp_nef.commands.calibration.spans import bad_tags, has_gold_spans, span_parts
from allennlp_nef.commands.calibration.words import Words
from allennlp_nef.metrics.calibration_scores import calibration_bins, expected_calibration_error
from allennlp_nef.metrics.word_qe_counts import word_qe_scores
from allennlp_nef.modules.calibration import Calibration


class Confidences(NamedTuple):
    """Probabilities, and whether what they are of is so."""

    values: numpy.ndarray
    is_right: numpy.ndarray

    def bins(self) -> numpy.ndarray:
        """See `calibration_bins`."""
        return calibration_bins(self.values, self.is_right)

    def ece(self) -> float:
        """See `expected_calibration_error`."""
        return expected_calibration_error(self.bins())


def confidences(words: Words, calibration: Calibration) -> Confidences:
    """Those of BAD (all severities together), or of the decoded tags where the labels are others."""
    table, labels = words.calibrated(calibration).astype(numpy.float64), words.head.labels
    if words.head.is_word_qe:
        return Confidences(table[:, words.head.bad_ids].sum(1), words.gold != labels.index("OK"))
    return Confidences(table[numpy.arange(len(table)), words.tags], words.tags == words.gold)


def measures(words: Words, calibration: Calibration) -> dict[str, float | None]:
    """The figures of words, as fractions of 1.

    `ece` and `brier` as the metric `calibration` gives them; `nll`, the mean negative log-likelihood of the gold tags
    that can be predicted; for word-level quality estimation `mcc`, `f1_mult`, and the shares of words that are tagged
    BAD and that are BAD, `tagged_share` and `gold_share`, and with gold error spans their F1 of characters, `span_f1`;
    for chunks `span_ece`, the calibration error of their
    probabilities, or None where none is predicted.
    """
    table = words.calibrated(calibration).astype(numpy.float64)
    found = confidences(words, calibration)
    rows = numpy.flatnonzero(words.is_possible)
    figures: dict[str, float | None] = {"ece": found.ece()}
    if words.head.is_word_qe:
        figures["brier"] = float(((found.values - found.is_right) ** 2).mean())
    else:
        is_gold = words.gold[:, None] == numpy.arange(table.shape[1])
        figures["brier"] = float(((table - is_gold) ** 2).sum(1).mean())
    figures["nll"] = float(-numpy.log(table[rows, words.gold[rows]].clip(min=1e-300)).mean())
    if words.head.is_word_qe:
        is_tagged = _is_tagged_bad(words, found.values, calibration.threshold)
        pairs = 2 * ~found.is_right + ~is_tagged
        scores = word_qe_scores(numpy.bincount(pairs, minlength=4).tolist())
        figures.update({name: scores[name] for name in ("mcc", "f1_mult")})
        figures.update(
            tagged_share=float(is_tagged.mean()), gold_share=float(found.is_right.mean())
        )
        if has_gold_spans(words):
            tags = words.tags if calibration.threshold is None else bad_tags(words, calibration)
            figures["span_f1"] = span_parts(words, is_tagged.astype(float), tags).f1(0.5)
    if words.sentences[0].next_words is not None:
        chunks = Confidences(*words.chunks(calibration))
        figures["span_ece"] = chunks.ece() if len(chunks.values) else None
    return figures


def _is_tagged_bad(
    words: Words, probabilities: numpy.ndarray, threshold: float | None
) -> numpy.ndarray:
    if threshold is None:
        return words.tags != words.head.labels.index("OK")
    return probabilities >= threshold
