// Table 1, NEF-F with sparsemax, N=L: accuracy 93.88, average of 12 languages.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'sparsemax' } },
}
