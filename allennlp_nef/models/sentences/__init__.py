"""Pairs of sentences, and trees. (For single sentences AllenNLP has `basic_classifier`.)"""

from allennlp_nef.models.sentences.class_output import ClassOutput
from allennlp_nef.models.sentences.pair_output import PairOutput
from allennlp_nef.models.sentences.score_output import ScoreOutput
from allennlp_nef.models.sentences.sentence_pair import SentencePair
from allennlp_nef.models.sentences.tree_lstm import TreeLstm

__all__ = ["ClassOutput", "PairOutput", "ScoreOutput", "SentencePair", "TreeLstm"]
