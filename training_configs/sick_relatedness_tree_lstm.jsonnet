// Dependency Tree-LSTM, Table 3 of Tai, Socher & Manning (ACL 2015): Pearson 0.8676 on SICK, with pretrained vectors.
// `parses` is a directory with the trees of the sentences in CoNLL-U.
(import 'sick_relatedness_bilstm.jsonnet') + {
  dataset_reader+: { parses: 'fixtures/sentences' },
  validation_dataset_reader+: { parses: 'fixtures/sentences' },
  model+: {
    seq2vec_encoder:: null,
    tree_encoder: { type: 'child_sum_tree_lstm', input_dim: 100, hidden_dim: 100 },
  },
}
