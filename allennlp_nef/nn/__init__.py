"""Algorithms as functions of tensors. They depend on torch alone."""
