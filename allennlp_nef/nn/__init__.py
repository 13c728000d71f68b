"""Algorithms as plain torch functions, which do not use AllenNLP."""
