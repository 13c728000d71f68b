// Table 2, NEF-S, N=5: F1 77.37 / 86.40 / 72.27 / 75.80 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('single', 5),
}
