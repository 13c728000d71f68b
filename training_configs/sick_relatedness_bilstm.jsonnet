// Bidirectional LSTM, Table 3 of Tai, Socher & Manning (ACL 2015): Pearson 0.8567 on SICK, with pretrained vectors.
(import 'parts/sick.libsonnet') {
  relatedness: true,
}
