// qe_nef_f_affixes that also learns the scores (HTER) of sentences, from .hter files. It keeps the epoch with the highest sum of
// MCC and Pearson's r on dev. Not in Table 3, whose NEF-F, N=5, has F1-MULT 41.18 on WMT16 English-German.
(import 'qe_nef_f_affixes.jsonnet') + {
  dataset_reader+: { sentence_scores: true },
  validation_dataset_reader+: { sentence_scores: true },
  model+: {
    sentence_heads: { hter: {} },
    metrics+: [{ type: 'sentence_scores' }],
  },
  trainer+: { validation_metric: ['+best_mcc', '+hter_pearson'] },
}
