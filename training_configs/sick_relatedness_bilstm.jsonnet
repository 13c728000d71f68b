// Bidirectional LSTM, Table 3 of Tai, Socher & Manning (ACL 2015): Pearson 0.8567 on SICK, with pretrained vectors.
// The output is that of their Section 4.2: the relatedness of two sentences, from 1 to 5.
local embedding_dim = 100;
local reader = {
  type: 'sentence_pairs',
  gold: 'score',
  token_indexers: { tokens: { type: 'single_id', lowercase_tokens: true } },
};

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/sentences/pairs_train.txt',
  validation_data_path: 'fixtures/sentences/pairs_dev.txt',
  datasets_for_vocab_creation: ['train'],
  vocabulary: { min_count: { tokens: 2 } },  // words seen once are unknown
  model: {
    type: 'sentence_pair',
    text_field_embedder: {
      token_embedders: { tokens: { type: 'embedding', embedding_dim: embedding_dim } },
    },
    seq2vec_encoder: { type: 'lstm', input_size: embedding_dim, hidden_size: 100, bidirectional: true },
    output: { type: 'scores' },
    hidden_dim: 50,
    dropout: 0.2,
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['first', 'second'] },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: { type: 'adagrad', lr: 0.05 },
    num_epochs: 20,
    patience: 5,
    validation_metric: '+pearson',
    grad_norm: 5.0,
  },
}
