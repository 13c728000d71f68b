"""Pairs of sentences, and trees. (For single sentences AllenNLP has `basic_classifier`.)"""

from allennlp_nef.models.sentence_pair import ClassOutput, PairOutput, ScoreOutput, SentencePair
from allennlp_nef.models.tree_lstm import TreeLstm

__all__ = ["ClassOutput", "PairOutput", "ScoreOutput", "SentencePair", "TreeLstm"]
