// Table 1, NEF-F with softmax, N=L: accuracy 95.43, average of 12 languages.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'softmax' } },
}
