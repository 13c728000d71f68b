// Table 2, NEF-F, N=10: F1 77.52 / 87.11 / 72.96 / 78.99 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 10),
}
