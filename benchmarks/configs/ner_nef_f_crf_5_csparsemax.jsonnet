// Constrained sparsemax in place of csoftmax; compare with Table 2, NEF-CRF-F, N=5: F1 80.03 / 88.01 / 73.45 / 81.00.
(import '../../training_configs/parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5) { attention: { type: 'csparsemax' } },
  tag_head: self.crf,
}
