// Table 4, right to left, N=L: F1 87.53 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'right_to_left' } },
  tag_head: self.crf,
}
