// Position-aware self-attention of Wei et al., Section III, on parts of speech.
(import 'pos_bilstm.jsonnet') + (import 'parts/psa.libsonnet')
