// The BiLSTM for data of one's own: affixes, copied words, averaged weights, no weight for BAD. Not in Table 3, whose BiLSTM has
// F1-MULT 39.71 on WMT16 English-German. Chosen on the dev sets of MLQE-PE English-German and Romanian-English. `allennlp-nef
// calibrate` then chooses the threshold.
(import 'parts/qe.libsonnet') {
  affix_dim: 32,
  word_similarity: true,
  alignment_dropout: 0.3,
  bad_weight: 1,
  optimizer: { type: 'adagrad', lr: 0.1 },
  embedding_l2: 0.003,
  average_decay: 0.998,
  metrics: [{ type: 'word_qe' }, { type: 'best_threshold_word_qe' }, { type: 'calibration' }],
  validation_metric: '+best_mcc',
  trainer+: { num_epochs: 12, patience: 4 },
}
