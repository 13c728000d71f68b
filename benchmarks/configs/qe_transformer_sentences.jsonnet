// qe_transformer that also learns the scores (HTER) of sentences, from files .hter.
(import '../../training_configs/qe_transformer.jsonnet') {
  sentence_scores: true,
  validation_metric: ['+best_mcc', '+pearson'],
}
