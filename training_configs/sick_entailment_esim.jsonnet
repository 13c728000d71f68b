// ESIM, Chen et al. (ACL 2017), Table 1, from allennlp-models (--include-package allennlp_models.pair_classification): accuracy 88.0
// on SNLI, with pretrained vectors.
local embedding_dim = 100;
local hidden_dim = 100;
local dropout = 0.5;
local layer(input_dim, output_dim, activation) = {
  input_dim: input_dim,
  num_layers: 1,
  hidden_dims: output_dim,
  activations: activation,
};
local bilstm(input_dim) = { type: 'lstm', input_size: input_dim, hidden_size: hidden_dim, bidirectional: true };
local names = ['premise', 'hypothesis'];

(import 'sick_entailment_bilstm.jsonnet') + {
  dataset_reader+: { names: names },
  validation_dataset_reader+: { names: names },
  model: {
    type: 'esim',
    text_field_embedder: {
      token_embedders: { tokens: { type: 'embedding', embedding_dim: embedding_dim } },
    },
    encoder: bilstm(embedding_dim),
    matrix_attention: { type: 'dot_product' },
    projection_feedforward: layer(8 * hidden_dim, hidden_dim, 'relu'),
    inference_encoder: bilstm(hidden_dim),
    output_feedforward: layer(8 * hidden_dim, hidden_dim, 'relu') { dropout: dropout },
    output_logit: layer(hidden_dim, 3, 'linear'),
    dropout: dropout,
  },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: names } },
  trainer+: { optimizer: { type: 'adam', lr: 0.0004 } },
}
