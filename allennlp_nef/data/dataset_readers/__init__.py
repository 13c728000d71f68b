"""Dataset readers. Each file holds the parser of its format, the registered readers and the writers."""
