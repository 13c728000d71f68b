from allennlp_nef.metrics.tag_accuracy import TagAccuracy
from allennlp_nef.metrics.word_qe import WordQeMetric, word_qe_scores

__all__ = ["TagAccuracy", "WordQeMetric", "word_qe_scores"]
