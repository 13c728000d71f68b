// NEF-F, N=5, above a pretrained encoder; compare with qe_transformer, and with Table 3, NEF-F, N=5: F1-MULT 41.18.
(import 'qe_transformer.jsonnet') + {
  model+: { decoder: { type: 'neural_easy_first', input_dim: null, num_steps: 5, dropout: 0.1 } },
}
