// Table 2, NEF-F, N=5: F1 77.96 / 86.11 / 72.60 / 79.22 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
