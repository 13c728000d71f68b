"""Dataset readers. Each file contains the parser for its format, the registered readers and the writers."""
