"""Parsing and writing of data files line by line, without AllenNLP."""
