// NEF-F, N=5 (Table 3: F1-MULT 41.18), tuned on the dev set of MLQE-PE English-German: BAD has weight 3, not 5, and
// the embeddings are regularized.
(import '../../training_configs/parts/qe.libsonnet') {
  bad_weight: 3,
  optimizer: { type: 'adagrad', lr: 0.1 },
  embedding_l2: 0.003,
  decoder: self.neural_easy_first('full', 5),
}
