// Table 1, NEF-S with csoftmax, N=L: accuracy 95.42, average of 12 languages.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('single', 'length'),
}
