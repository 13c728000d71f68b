// NEF-F with a CRF, N=5 (Martins & Kreutzer, 2017, Table 2), with the inputs and settings of Cui & Zhang (EMNLP 2019), Section 4.
(import 'parts/ner.libsonnet') + (import 'parts/lan.libsonnet') + {
  num_layers: 1,
  decoder: self.neural_easy_first('full', 5),
  tag_head: self.crf,
}
