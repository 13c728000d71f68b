"""Tags corpora: columns of a batch in, columns out."""
