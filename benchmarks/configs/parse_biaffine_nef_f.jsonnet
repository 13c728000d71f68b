// NEF-F, N=5, between the BiLSTM and the scores of arcs; compare with parse_biaffine, Table 4 of Dozat & Manning (2017).
(import '../../training_configs/parse_biaffine.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
