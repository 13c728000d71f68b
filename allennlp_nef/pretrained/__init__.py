"""Pretrained encoders: loading, windows of long texts, LoRA, and the components `word_pieces`."""
