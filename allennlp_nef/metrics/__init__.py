from allennlp_nef.metrics.conlleval import ConllEvalMetric
from allennlp_nef.metrics.tag_accuracy import TagAccuracy
from allennlp_nef.metrics.word_qe import WordQeMetric, count_word_qe, word_qe_scores

__all__ = ["ConllEvalMetric", "TagAccuracy", "WordQeMetric", "count_word_qe", "word_qe_scores"]
