// Constituency Tree-LSTM, Table 2 of Tai, Socher & Manning (ACL 2015): accuracy 51.0 in 5 classes with pretrained vectors, 43.9
// without.
(import 'sst_bilstm.jsonnet') + {
  local reader = { type: 'labeled_trees', token_indexers: { tokens: { type: 'single_id' } } },
  dataset_reader: reader,
  validation_dataset_reader: reader,
  model+: {
    type: 'tree_lstm',
    seq2vec_encoder:: null,
    tree_encoder: { type: 'binary_tree_lstm', input_dim: 100, hidden_dim: 150 },
  },
  trainer+: { optimizer: { type: 'adagrad', lr: 0.05 } },
}
