"""Exports taggers as ONNX graphs, with a program that tags without torch."""
