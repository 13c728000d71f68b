"""Runs exported taggers with NumPy and onnxruntime. `allennlp-nef export` copies this package into its folder."""

from allennlp_nef.runner.tagger import ExportedTagger

__all__ = ["ExportedTagger"]
