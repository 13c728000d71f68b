// Learned bounds of the attention; compare with Table 2, NEF-CRF-F, N=5: F1 80.03 / 88.01 / 73.45 / 81.00.
(import '../../training_configs/parts/ner.libsonnet') {
  decoder: self.neural_easy_first('full', 5) { learned_bounds: true },
  tag_head: self.crf,
}
