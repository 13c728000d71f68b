// ESIM with NEF-F, N=5, on the BiLSTM below the attention; compare with sick_entailment_esim, Table 1 of Chen et al. (2017).
local sketch_dim = 50;

(import '../../training_configs/sick_entailment_esim.jsonnet') + {
  model+: {
    local bilstm = super.encoder,
    local dim = 2 * bilstm.hidden_size,
    encoder: {
      type: 'compose',
      encoders: [
        bilstm,
        { type: 'neural_easy_first', input_dim: dim, sketch_dim: sketch_dim, num_steps: 5, dropout: 0.5 },
      ],
    },
    // The concatenation, difference and product of two states.
    projection_feedforward+: { input_dim: 4 * (dim + sketch_dim) },
  },
}
