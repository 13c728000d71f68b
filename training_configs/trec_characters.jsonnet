// A BiLSTM over words that are read letter by letter, by a BiLSTM (Section 4 of Lample et al., NAACL 2016).
(import 'parts/trec.libsonnet') {
  embedding_dim: 0,
  character_dim: 25,
  character_lstm_dim: 50,
}
