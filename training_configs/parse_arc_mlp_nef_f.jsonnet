// NEF-F, N=5, between the BiLSTM and the scores of arcs; compare with parse_arc_mlp, Table 1 of Kiperwasser & Goldberg (2016).
(import 'parse_arc_mlp.jsonnet') + {
  model+: {
    local bilstm = super.encoder,
    encoder: {
      type: 'compose',
      encoders: [
        bilstm,
        { type: 'neural_easy_first', input_dim: 2 * bilstm.hidden_size, num_steps: 5, dropout: 0.3 },
      ],
    },
  },
}
