// Relatedness by a BiLSTM and attention over its states (Section 2.2 of Yang et al., NAACL 2016).
(import '../../training_configs/sick_relatedness_bilstm.jsonnet') + {
  model+: {
    local bilstm = super.seq2vec_encoder,
    seq2seq_encoder: bilstm,
    seq2vec_encoder: { type: 'attention_pooling', input_dim: 2 * bilstm.hidden_size },
  },
}
