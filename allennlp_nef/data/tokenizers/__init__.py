"""Tokenizers of raw text whose tokens have their places in the text."""

from allennlp_nef.data.tokenizers.sacremoses import SacremosesTokenizer
from allennlp_nef.data.tokenizers.splitting import PunctuationTokenizer, split_text

__all__ = ["PunctuationTokenizer", "SacremosesTokenizer", "split_text"]
