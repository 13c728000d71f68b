// Table 2, NEF-F, N=L: F1 78.46 / 86.36 / 72.35 / 78.87 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 'length'),
}
