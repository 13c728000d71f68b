// The settings of Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), to be added to
// a config of pos_bilstm or ner_bilstm: words and characters, three layers of label attention, SGD. The loss is summed over a batch.
local characters = (import 'characters.libsonnet')(character_dim=30, lstm_dim=25);
local word_dim = 100;
local lstm_dim = 200;  // each way; both directions together are the dimension of the labels
local dropout = 0.5;

{
  dataset_reader+: { token_indexers: characters.token_indexers, max_tokens:: null },
  validation_dataset_reader+: { token_indexers: characters.token_indexers },
  vocabulary: { min_count: { tokens: 2 } },
  model+: {
    text_field_embedder: characters.text_field_embedder(word_dim),
    encoder: {
      type: 'label_attention',
      input_dim: word_dim + characters.output_dim,
      hidden_dim: 2 * lstm_dim,
      num_layers: 3,
      num_heads: 5,
      attend_last: false,  // the tag head is the last layer's attention
      dropout: dropout,
    },
    tag_head: { type: 'label_attention', average: 'none' },
    dropout: dropout,
  },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 10, sorting_keys: ['tokens'] } },
  trainer+: {
    optimizer: { type: 'sgd', lr: 0.01, momentum: 0.9, weight_decay: 1e-8 },
    learning_rate_scheduler: { type: 'inverse_time', rate: 0.035 },
    num_epochs: 100,
    patience: 10,
  },
  // The baselines of the paper have layers of BiLSTM in place of label attention.
  bilstm(num_layers):: {
    type: 'lstm',
    input_size: word_dim + characters.output_dim,
    hidden_size: lstm_dim,
    num_layers: num_layers,
    [if num_layers > 1 then 'dropout']: dropout,
    bidirectional: true,
  },
}
