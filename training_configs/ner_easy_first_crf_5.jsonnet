// Table 4, vanilla easy-first, N=5: F1 87.17 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5) { attention: { type: 'easy_first' } },
  tag_head: self.crf,
}
