// qe_nef_f_affixes that also learns the scores (HTER) of sentences, from files .hter. Not in Table 3, whose NEF-F, N=5, has F1-MULT
// 41.18 on WMT16 English-German. The epoch is that with the highest sum of MCC and Pearson's r on dev.
(import 'qe_nef_f_affixes.jsonnet') {
  sentence_scores: true,
  validation_metric: ['+best_mcc', '+pearson'],
}
