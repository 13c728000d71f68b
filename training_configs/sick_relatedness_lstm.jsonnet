// LSTM, Table 3 of Tai, Socher & Manning (ACL 2015): Pearson 0.8528 on SICK, with pretrained vectors.
(import 'sick_relatedness_bilstm.jsonnet') + { model+: { seq2vec_encoder+: { bidirectional: false } } }
