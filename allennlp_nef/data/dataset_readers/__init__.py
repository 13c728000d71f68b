"""Dataset readers. Each file contains the registered reader of a format and its writer."""
