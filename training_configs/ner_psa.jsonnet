// Position-aware self-attention, Table VI of Wei et al.: F1 91.33 in English (CoNLL-2003), with pretrained word vectors.
(import 'ner_bilstm.jsonnet') + (import 'parts/psa.libsonnet') + {
  dataset_reader+: { tag_scheme: 'BIOUL' },
  validation_dataset_reader+: { tag_scheme: 'BIOUL' },
  model+: { tag_head+: { constraints: 'BIOUL' } },
  trainer+: { optimizer+: { lr: 0.015 } },
}
