// NEF-F, N=5, on the BiLSTM and below attention; compare with Table 3 of Tai, Socher & Manning (ACL 2015).
(import 'parts/sick.libsonnet') {
  relatedness: true,
  decoder: self.neural_easy_first('full', 5),
}
