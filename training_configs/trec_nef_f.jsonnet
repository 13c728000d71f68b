// NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), on the BiLSTM below a pooling by attention (Yang et al., NAACL 2016).
(import 'parts/trec.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
