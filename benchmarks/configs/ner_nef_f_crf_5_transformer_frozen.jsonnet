// ner_transformer_frozen with NEF-F, N=5.
(import 'ner_transformer_frozen.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
