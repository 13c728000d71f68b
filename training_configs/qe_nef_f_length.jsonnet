// Table 3, NEF-F, N=L: F1-MULT 40.84 on WMT16 English-German.
(import 'parts/qe.libsonnet') {
  decoder: self.neural_easy_first('full', 'length'),
}
