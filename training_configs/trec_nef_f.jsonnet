// NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), between the BiLSTM and a pooling by attention (Yang et al., NAACL 2016).
local lstm_dim = 100;  // each way
local sketch_dim = 50;

(import 'trec_bilstm.jsonnet') + {
  model+: {
    local bilstm = super.seq2vec_encoder,
    seq2seq_encoder: {
      type: 'compose',
      encoders: [
        bilstm,
        { type: 'neural_easy_first', input_dim: 2 * lstm_dim, sketch_dim: sketch_dim, num_steps: 5, dropout: 0.5 },
      ],
    },
    seq2vec_encoder: { type: 'attention_pooling', input_dim: 2 * lstm_dim + sketch_dim },
  },
}
