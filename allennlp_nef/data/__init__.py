"""File formats, dataset readers, fields, affixes and tokenizers."""
