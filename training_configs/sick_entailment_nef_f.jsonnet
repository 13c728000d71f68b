// Entailment by NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), on the BiLSTM below a pooling by attention.
(import 'parts/sick.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
