// Entailment by NEF-F, N=5, on the BiLSTM and below attention; compare with sick_entailment_bilstm, Section 4.2 of Tai et al. (2015).
(import 'parts/sick.libsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
