// qe_bilstm_affixes that also learns the scores (HTER) of sentences, from files .hter. Not in Table 3, whose BiLSTM has F1-MULT
// 39.71 on WMT16 English-German. It is qe_nef_f_sentences without the decoder.
(import 'qe_bilstm_affixes.jsonnet') {
  sentence_scores: true,
  validation_metric: ['+best_mcc', '+pearson'],
}
