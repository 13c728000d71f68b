// A BiLSTM whose last and first state are classified; Table 3 of Zhou et al. (2015), "A C-LSTM Neural Network for Text
// Classification": accuracy 93.0 on TREC, with pretrained vectors.
(import 'parts/trec.libsonnet') {}
