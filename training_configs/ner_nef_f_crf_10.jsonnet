// Table 2, NEF-CRF-F, N=10: F1 79.86 / 87.51 / 73.63 / 80.35 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 10),
  tag_head: self.crf,
}
