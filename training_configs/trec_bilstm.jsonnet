// A BiLSTM whose last and first states are classified; Table 3 of Zhou et al. (2015), "A C-LSTM Neural Network for Text
// Classification": accuracy 93.0 on TREC, with pretrained vectors. The classes of questions are those of Li & Roth (COLING 2002).
local embedding_dim = 100;
local reader = {
  type: 'labeled_sentences',
  layout: 'trec',
  token_indexers: { tokens: { type: 'single_id' } },
};

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/sentences/questions_train.txt',
  validation_data_path: 'fixtures/sentences/questions_dev.txt',
  datasets_for_vocab_creation: ['train'],
  vocabulary: { min_count: { tokens: 2 } },  // words seen once are unknown
  model: {
    type: 'sentence_classifier',
    text_field_embedder: {
      token_embedders: { tokens: { type: 'embedding', embedding_dim: embedding_dim } },
    },
    seq2vec_encoder: { type: 'lstm', input_size: embedding_dim, hidden_size: 100, bidirectional: true },
    dropout: 0.5,
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['tokens'] },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: { type: 'adam', lr: 0.001 },
    num_epochs: 20,
    patience: 5,
    validation_metric: '+accuracy',
    grad_norm: 5.0,
  },
}
