// Constituency Tree-LSTM, Table 2 of Tai, Socher & Manning (ACL 2015): accuracy 51.0 in 5 classes with pretrained vectors, 43.9
// without.
(import 'parts/sst.libsonnet') {
  local knobs = self,
  reader: { type: 'labeled_trees' },
  lstm_dim: 150,
  optimizer: { type: 'adagrad', lr: 0.05 },
  encoders: { tree_encoder: { type: 'binary_tree_lstm', input_dim: knobs.input_dim, hidden_dim: knobs.lstm_dim } },
  model_type: 'tree_lstm',
}
