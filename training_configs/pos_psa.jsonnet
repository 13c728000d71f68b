// Position-aware self-attention of Wei et al., Section III, on parts of speech.
(import 'parts/pos.libsonnet') + (import 'parts/psa.libsonnet')
