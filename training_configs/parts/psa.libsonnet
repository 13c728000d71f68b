// The settings of Wei et al., "Position-Aware Self-Attention based Neural Sequence Labeling", to be added to a config of pos_bilstm
// or ner_bilstm: words and characters, self-attention below and above a BiLSTM, a CRF, SGD. The loss is summed over a batch. LSTMs
// and CRF have PyTorch's initial weights, not the paper's.
local characters = (import 'characters.libsonnet')(character_dim=30, lstm_dim=50);
local word_dim = 100;
local input_dim = word_dim + characters.output_dim;
local lstm_dim = 150;  // each way

local fusion(dim) = { type: 'position_aware_self_attention', input_dim: dim, dropout: 0.2 };
local dropout(dim) = { type: 'dropout', input_dim: dim, dropout: 0.55 };
local bilstm = [
  dropout(input_dim),
  { type: 'lstm', input_size: input_dim, hidden_size: lstm_dim, bidirectional: true },
  dropout(2 * lstm_dim),
];

{
  dataset_reader+: { token_indexers: characters.token_indexers, max_tokens:: null },
  validation_dataset_reader+: { token_indexers: characters.token_indexers },
  vocabulary: { min_count: { tokens: 2 } },
  model+: {
    text_field_embedder: characters.text_field_embedder(word_dim),
    encoder: { type: 'compose', encoders: [fusion(input_dim)] + bilstm + [fusion(2 * lstm_dim)] },
    tag_head: { type: 'crf', average: 'none' },
    dropout: 0,
  },
  data_loader: { batch_sampler: { type: 'bucket', batch_size: 10, sorting_keys: ['tokens'] } },
  trainer+: {
    optimizer: { type: 'sgd', lr: 0.01, momentum: 0.9 },
    learning_rate_scheduler: { type: 'inverse_time', rate: 0.05 },
    num_epochs: 100,
    patience: 10,
  },
  // The paper's baseline, without fusion (Table VIII).
  bilstm:: { type: 'compose', encoders: bilstm },
}
