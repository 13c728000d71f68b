// ESIM with NEF-F, N=5, on the BiLSTM below the attention; compare with sick_entailment_esim, Table 1 of Chen et al. (2017).
(import '../../training_configs/sick_entailment_esim.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
