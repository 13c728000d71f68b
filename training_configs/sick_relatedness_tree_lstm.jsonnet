// Dependency Tree-LSTM, Table 3 of Tai, Socher & Manning (ACL 2015): Pearson 0.8676 on SICK, with pretrained vectors. The trees
// are made as docs/sentences.md says.
(import 'parts/sick.libsonnet') {
  local knobs = self,
  relatedness: true,
  parses: 'fixtures/sentences',
  encoders: { tree_encoder: { type: 'child_sum_tree_lstm', input_dim: knobs.input_dim, hidden_dim: knobs.lstm_dim } },
}
