// NEF-F, N=5, between the BiLSTM and the scores of arcs: in no published table; compare with parse_arc_mlp, whose figures in
// Table 1 of Kiperwasser & Goldberg (TACL 2016) are 93.1 UAS and 91.0 LAS.
(import 'parts/parse.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
