// NEF-F, N=5 (Table 3: F1-MULT 41.18), tuned on the dev set of MLQE-PE English-German: BAD has weight 3 instead of 5, and the
// embeddings are regularized.
(import '../../training_configs/qe_nef_f.jsonnet') + {
  model+: {
    tag_head+: { label_weights: { BAD: 3 } },
    regularizer: { regexes: [['embedder', { type: 'l2', alpha: 0.003 }]] },
  },
  trainer+: { optimizer+: { lr: 0.1 } },
}
