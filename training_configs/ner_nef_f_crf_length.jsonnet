// Table 2, NEF-CRF-F, N=L: F1 80.29 / 87.58 / 74.75 / 80.71 in Dutch / English / German / Spanish.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 'length'),
  tag_head: self.crf,
}
