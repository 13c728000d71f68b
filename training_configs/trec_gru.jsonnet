// A GRU whose last state is classified; compare with trec_lstm, Table 3 of Zhou et al. (2015).
(import 'trec_lstm.jsonnet') {
  encoder_type: 'gru',
}
