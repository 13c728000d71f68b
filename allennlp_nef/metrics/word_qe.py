from collections import Counter
from typing import Dict, List, Optional, Sequence

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric
from overrides import overrides


@Metric.register("word_qe")
class WordQeMetric(Metric):
    """The scores of the WMT shared tasks on word-level quality estimation, over the whole data set.

    `f1_ok` and `f1_bad` are the F1 of each label, `f1_mult` their product (the primary score of WMT16), `mcc` the
    Matthews correlation coefficient (the primary score since WMT20), and `accuracy`. All in [0, 1] but `mcc`, in
    [-1, 1]. What would divide by zero is 0: a tagger that never says BAD has `f1_bad`, `f1_mult` and `mcc` of 0.

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
        if set(labels) - {ok_label, bad_label}:
            raise ConfigurationError(
                f"word_qe: expected the labels {ok_label} and {bad_label}, got {', '.join(labels)}"
            )
        self._bad = labels.get(bad_label, -1)
        # BAD and tagged BAD, BAD and tagged OK, OK and tagged BAD, OK and tagged OK.
        self._counts = [0, 0, 0, 0]

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Predicted and gold tags, and the mask: each (batch, tokens)."""
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        is_bad, says_bad = gold[mask] == self._bad, predictions[mask] == self._bad
        counts = torch.stack(
            [(is_bad & says_bad), (is_bad & ~says_bad), (~is_bad & says_bad), ~(is_bad | says_bad)]
        ).sum(-1)
        counts = dist_reduce_sum(counts)
        self._counts = [old + new for old, new in zip(self._counts, counts.tolist())]

    @overrides
    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        scores = word_qe_scores(self._counts)
        if reset:
            self.reset()
        return scores

    @overrides
    def reset(self) -> None:
        self._counts = [0, 0, 0, 0]


def count_word_qe(
    gold: Sequence[str], predicted: Sequence[str], bad_label: str = "BAD"
) -> List[int]:
    """The counts that `word_qe_scores` takes, of the tags of some words.

    Raises `ValueError` if there are not as many predicted tags as gold ones.
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"predicted: expected {len(gold)} tags, as many as gold ones, got {len(predicted)}"
        )
    pairs = Counter((g == bad_label, p == bad_label) for g, p in zip(gold, predicted))
    return [pairs[is_bad, says_bad] for is_bad in (True, False) for says_bad in (True, False)]


def word_qe_scores(counts: Sequence[int]) -> Dict[str, float]:
    """The scores of `WordQeMetric` from a confusion matrix.

    `counts` are the words that are BAD and tagged BAD, BAD and tagged OK, OK and tagged BAD, OK and tagged OK.
    """
    arrays = word_qe_score_arrays(numpy.asarray(counts, dtype=numpy.float64))
    return {name: float(array) for name, array in arrays.items()}


def word_qe_score_arrays(counts: numpy.ndarray) -> Dict[str, numpy.ndarray]:
    """The scores of many confusion matrices: counts (..., 4), as `word_qe_scores` takes them, to scores (...)."""
    bad_bad, bad_ok, ok_bad, ok_ok = numpy.moveaxis(counts.astype(numpy.float64), -1, 0)
    wrong = bad_ok + ok_bad
    f1_ok = ratio(2 * ok_ok, 2 * ok_ok + wrong)
    f1_bad = ratio(2 * bad_bad, 2 * bad_bad + wrong)
    spread = numpy.sqrt((bad_bad + bad_ok) * (bad_bad + ok_bad)) * numpy.sqrt(
        (ok_ok + bad_ok) * (ok_ok + ok_bad)
    )
    return {
        "f1_ok": f1_ok,
        "f1_bad": f1_bad,
        "f1_mult": f1_ok * f1_bad,
        "mcc": ratio(bad_bad * ok_ok - bad_ok * ok_bad, spread),
        "accuracy": ratio(bad_bad + ok_ok, bad_bad + ok_ok + wrong),
    }


def ratio(numerator: numpy.ndarray, denominator: numpy.ndarray) -> numpy.ndarray:
    """Element by element; 0 where the denominator is 0."""
    out = numpy.zeros(numpy.shape(denominator))
    return numpy.divide(numerator, denominator, out=out, where=denominator != 0)[()]
