// Bidirectional LSTM, Table 2 of Tai, Socher & Manning (ACL 2015): accuracy 49.1 in 5 classes, with pretrained vectors and the
// labels of all phrases. The class of a sentence is the label at the root of its tree.
(import 'trec_bilstm.jsonnet') + {
  local reader = { type: 'labeled_sentences', layout: 'trees', token_indexers: { tokens: { type: 'single_id' } } },
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/sentences/reviews_train.txt',
  validation_data_path: 'fixtures/sentences/reviews_dev.txt',
}
