// Table 4, vanilla easy-first, N=L: F1 87.46 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'easy_first' } },
  tag_head: self.crf,
}
