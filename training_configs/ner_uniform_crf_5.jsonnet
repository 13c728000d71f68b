// Table 4, uniform attention, N=5: F1 87.46 in English; NEF-CRF-F, N=5: 88.01.
(import 'parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5) { attention: { type: 'uniform' } },
  tag_head: self.crf,
}
