// Table 2, NEF-CRF-S, N=5: F1 78.89 / 88.33 / 72.37 / 80.21 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('single', 5),
  tag_head: self.crf,
}
