// Table 3, NEF-F, N=5: F1-MULT 41.18 on WMT16 English-German.
(import 'parts/qe.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
