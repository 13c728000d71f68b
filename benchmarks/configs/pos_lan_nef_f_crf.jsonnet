// NEF-F, N=5, with the inputs and the training of label attention; compare with pos_lan_bilstm_crf.
(import '../../training_configs/pos_lan_bilstm_crf.jsonnet') + {
  model+: {
    decoder: { type: 'neural_easy_first', input_dim: null, num_steps: 5, dropout: 0.5 },
  },
}
