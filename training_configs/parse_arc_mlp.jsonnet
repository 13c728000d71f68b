// Kiperwasser & Goldberg (TACL 2016), Table 1: the graph-based parser, with two BiLSTM layers. 93.1 UAS and 91.0 LAS in English
// (PTB). Words seen once are unknown; the paper replaces rare words at random.
local embedding_dim = 100;
local tag_dim = 25;  // of the parts of speech
local lstm_dim = 125;  // each way
local dropout = 0.3;

local reader = {
  type: 'conllu_trees',
  column: 'upos',
  token_indexers: { tokens: { type: 'single_id' } },
};

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/pos/train.conllu',
  validation_data_path: 'fixtures/pos/dev.conllu',
  datasets_for_vocab_creation: ['train'],
  vocabulary: { min_count: { tokens: 2 } },
  model: {
    type: 'arc_mlp_parser',
    text_field_embedder: {
      token_embedders: { tokens: { type: 'embedding', embedding_dim: embedding_dim } },
    },
    pos_tag_embedding: { embedding_dim: tag_dim, vocab_namespace: 'pos' },
    encoder: {
      type: 'lstm',
      input_size: embedding_dim + tag_dim,
      hidden_size: lstm_dim,
      num_layers: 2,
      dropout: dropout,
      bidirectional: true,
    },
    arc_dim: 100,
    label_dim: 100,
    dropout: dropout,
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['words'] },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: { type: 'adam', lr: 0.001 },
    num_epochs: 30,
    patience: 5,
    validation_metric: '+LAS',
    grad_norm: 5.0,
  },
}
