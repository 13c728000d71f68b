"""Dependency parsing. (allennlp-models has `biaffine_parser`.)"""

from allennlp_nef.models.arc_mlp_parser import ArcMlpParser

__all__ = ["ArcMlpParser"]
