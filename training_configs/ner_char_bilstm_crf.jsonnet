// BiLSTM-CRF of Lample et al. (NAACL 2016), Tables 1 to 4: F1 90.94 / 78.76 / 81.74 / 85.75 in English / German / Dutch /
// Spanish, with pre-trained word vectors (pretrained_file). One update a sentence.
(import 'parts/ner.libsonnet') {
  tag_scheme: 'BIOUL',
  embedding_dim: 100,
  affix_dim: 0,
  character_dim: 25,
  character_lstm_dim: 25,
  lstm_dim: 100,
  min_count: 1,
  unknown_probability: 0.5,
  input_dropout: 0.5,
  dropout: 0,
  batch_size: 1,
  optimizer: { type: 'sgd', lr: 0.01 },
  num_epochs: 100,
  max_tokens: null,
  tag_head: self.crf,
}
