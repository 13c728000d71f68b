// NEF-F, N=5, above a pretrained encoder; compare with pos_transformer, and with Table 1, NEF-F with csoftmax: accuracy 95.47.
(import 'pos_transformer.jsonnet') + {
  model+: { decoder: { type: 'neural_easy_first', input_dim: null, num_steps: 5, dropout: 0.2 } },
}
