// Table 1, vanilla easy-first (Algorithm 1), N=L: accuracy 95.42, average of 12 languages.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'easy_first' } },
}
