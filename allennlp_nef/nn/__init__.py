"""The mathematics, as functions on tensors."""
