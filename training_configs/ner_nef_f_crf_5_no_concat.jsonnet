// Table 4, NEF-CRF-F, N=5, without concatenation: F1 87.47 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5) { concat_input: false },
  tag_head: self.crf,
}
