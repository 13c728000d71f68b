// NEF-F, N=5, with a CRF: not in Table 3, which has no CRF rows; compare with NEF-F, N=5: F1-MULT 41.18.
(import '../../training_configs/parts/qe.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
  tag_head_type: 'crf',
}
