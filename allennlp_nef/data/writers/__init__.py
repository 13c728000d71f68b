"""Output formats: functions that format a predicted sentence. Each reader has a table of those that it can write."""

from allennlp_nef.data.writers.prediction import Prediction, Writer

__all__ = ["Prediction", "Writer"]
