// Position-aware self-attention, Table VI of Wei et al.: F1 91.33 in English (CoNLL-2003), with word vectors (pretrained_file).
(import 'parts/ner.libsonnet') + (import 'parts/psa.libsonnet') + {
  tag_scheme: 'BIOUL',
  learning_rate:: 0.015,
}
