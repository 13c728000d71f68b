// NEF-F, N=5, on the BiLSTM and below attention; compare with Table 2 of Tai, Socher & Manning (ACL 2015).
(import 'parts/sst.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
