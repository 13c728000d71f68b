// A pretrained encoder of both sentences with a linear layer, the recommended tagger; compare with Table 3, BiLSTM: F1-MULT 39.71.
(import 'parts/qe.libsonnet') + (import 'parts/transformer.libsonnet') {
  aligned_source: true,
  max_tokens: null,
  batch_size: 16,
  num_epochs: 4,
  bad_weight: 1,  // `allennlp-nef calibrate` chooses the threshold
  metrics: [{ type: 'word_qe' }, { type: 'best_threshold_word_qe' }, { type: 'calibration' }],
  validation_metric: '+best_mcc',
}
