"""Word-level quality estimation of machine translation: data, word aligner, model, metrics and predictor."""
