from allennlp_nef.predictors.word_qe import WordQePredictor

__all__ = ["WordQePredictor"]
