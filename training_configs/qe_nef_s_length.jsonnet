// Table 3, NEF-S, N=L: F1-MULT 40.99 on WMT16 English-German.
(import 'parts/qe.libsonnet') {
  decoder: self.neural_easy_first('single', 'length'),
}
