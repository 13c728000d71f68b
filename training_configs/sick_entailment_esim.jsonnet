// ESIM, Chen et al. (ACL 2017), Table 1, as allennlp-models has it: accuracy 88.0 on SNLI, with pretrained vectors.
(import 'parts/sick.libsonnet') {
  local knobs = self,
  local states_dim = 2 * knobs.lstm_dim + (if knobs.decoder == null then 0 else knobs.decoder.sketch_dim),
  local layer(input_dim, hidden_dim, activation) = {
    input_dim: input_dim,
    num_layers: 1,
    hidden_dims: hidden_dim,
    activations: activation,
  },

  names: ['premise', 'hypothesis'],
  sorting_keys: self.names,
  dropout: 0.5,
  optimizer: { type: 'adam', lr: 0.0004 },
  model: {
    type: 'esim',
    text_field_embedder: { token_embedders: knobs.token_embedders },
    encoder: if knobs.decoder == null then knobs.encoder else {
      type: 'compose',
      encoders: [knobs.encoder, knobs.decoder],
    },
    matrix_attention: { type: 'dot_product' },
    projection_feedforward: layer(4 * states_dim, knobs.lstm_dim, 'relu'),
    inference_encoder: {
      type: 'lstm',
      input_size: knobs.lstm_dim,
      hidden_size: knobs.lstm_dim,
      bidirectional: true,
    },
    output_feedforward: layer(8 * knobs.lstm_dim, knobs.lstm_dim, 'relu') { dropout: knobs.dropout },
    output_logit: layer(knobs.lstm_dim, 3, 'linear'),
    dropout: knobs.dropout,
  },
}
