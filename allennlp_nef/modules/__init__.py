"""Registered parts of models: attentions, attention transforms, encoders and tag heads."""
