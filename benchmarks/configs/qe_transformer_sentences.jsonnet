// qe_transformer that also learns the scores (HTER) of sentences, from .hter files (Table 3 has words only).
(import '../../training_configs/qe_transformer.jsonnet') + {
  dataset_reader+: { sentence_scores: true },
  validation_dataset_reader+: { sentence_scores: true },
  model+: { sentence_heads: { hter: {} }, metrics+: [{ type: 'sentence_scores' }] },
  trainer+: { validation_metric: ['+best_mcc', '+hter_pearson'] },
}
