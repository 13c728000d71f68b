// Bidirectional LSTM, Table 2 of Tai, Socher & Manning (ACL 2015): accuracy 49.1 in 5 classes, with pretrained vectors and the
// labels of all phrases.
(import 'parts/sst.libsonnet') {}
