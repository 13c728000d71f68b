// An LSTM whose last state is classified; Table 3 of Zhou et al. (2015), "A C-LSTM Neural Network for Text Classification":
// accuracy 93.2 on TREC, with pretrained vectors.
(import 'trec_bilstm.jsonnet') + { model+: { seq2vec_encoder+: { bidirectional: false } } }
