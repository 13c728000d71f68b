"""File formats, dataset readers, fields, token indexers and tokenizers."""
