// Table 3, NEF-S, N=5: F1-MULT 40.91 on WMT16 English-German.
(import 'parts/qe.libsonnet') {
  decoder: self.neural_easy_first('single', 5),
}
