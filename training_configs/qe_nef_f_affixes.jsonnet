// NEF-F, N=5, for data of one's own: qe_bilstm_affixes with the decoder. Not in Table 3, whose NEF-F, N=5, has F1-MULT 41.18 on
// WMT16 English-German.
(import 'qe_bilstm_affixes.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
