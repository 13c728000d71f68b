// NEF-F, N=5, between the BiLSTM and the scores of arcs; compare with parse_arc_mlp, Table 1 of Kiperwasser & Goldberg (2016).
(import 'parts/parse.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
