"""Scores of tags over a whole data set, and tests of significance.

The names are imported when they are asked for, so that `allennlp_nef.metrics.tag_scores` needs neither torch nor
AllenNLP.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allennlp_nef.metrics.attachment_scores import (
        AttachmentScoresMetric as AttachmentScoresMetric,
    )
    from allennlp_nef.metrics.calibration import CalibrationMetric as CalibrationMetric
    from allennlp_nef.metrics.conlleval import ConllEvalMetric as ConllEvalMetric
    from allennlp_nef.metrics.counting_metric import CountingMetric as CountingMetric
    from allennlp_nef.metrics.counting_metric import ProbabilityMetric as ProbabilityMetric
    from allennlp_nef.metrics.counting_metric import TagAccuracy as TagAccuracy
    from allennlp_nef.metrics.sentence_scores import SentenceScoresMetric as SentenceScoresMetric
    from allennlp_nef.metrics.tag_scores import count_word_qe as count_word_qe
    from allennlp_nef.metrics.tag_scores import word_qe_scores as word_qe_scores
    from allennlp_nef.metrics.word_qe import BestThresholdWordQe as BestThresholdWordQe
    from allennlp_nef.metrics.word_qe import WordQeMetric as WordQeMetric

_MODULES = {
    "AttachmentScoresMetric": "attachment_scores",
    "BestThresholdWordQe": "word_qe",
    "CalibrationMetric": "calibration",
    "ConllEvalMetric": "conlleval",
    "CountingMetric": "counting_metric",
    "ProbabilityMetric": "counting_metric",
    "SentenceScoresMetric": "sentence_scores",
    "TagAccuracy": "counting_metric",
    "WordQeMetric": "word_qe",
    "count_word_qe": "tag_scores",
    "word_qe_scores": "tag_scores",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
