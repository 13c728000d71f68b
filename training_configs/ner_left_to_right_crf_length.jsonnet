// Table 4, left to right, N=L: F1 87.57 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'left_to_right' } },
  tag_head: self.crf,
}
