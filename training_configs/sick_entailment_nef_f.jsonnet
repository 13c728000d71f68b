// Entailment by NEF-F, N=5 (Section 3 of Martins & Kreutzer, EMNLP 2017), on the BiLSTM and below the pooling of sick_entailment_attention.
(import 'parts/sick.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
