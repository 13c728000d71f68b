// NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), between the BiLSTM and a pooling by attention; compare with Table 3 of
// Tai, Socher & Manning (ACL 2015), BiLSTM: Pearson 0.8567.
local lstm_dim = 100;  // each way
local sketch_dim = 50;

(import 'sick_relatedness_bilstm.jsonnet') + {
  model+: {
    local bilstm = super.seq2vec_encoder,
    seq2seq_encoder: {
      type: 'compose',
      encoders: [
        bilstm,
        { type: 'neural_easy_first', input_dim: 2 * lstm_dim, sketch_dim: sketch_dim, num_steps: 5, dropout: 0.2 },
      ],
    },
    seq2vec_encoder: { type: 'attention_pooling', input_dim: 2 * lstm_dim + sketch_dim },
  },
}
