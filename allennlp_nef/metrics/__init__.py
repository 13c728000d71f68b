"""Metrics of training, scorers of files, and significance tests."""
