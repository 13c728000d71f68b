"""Registered parts of models: attentions, encoders, embedders, tag heads and transformers."""
