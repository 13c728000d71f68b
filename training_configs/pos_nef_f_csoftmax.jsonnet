// Table 1, NEF-F with csoftmax, N=L: accuracy 95.47, average of 12 languages.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length'),
}
