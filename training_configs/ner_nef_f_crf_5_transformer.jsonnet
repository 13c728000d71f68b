// NEF-F, N=5, over a pretrained encoder, with a CRF; compare with Table 2, NEF-CRF-F, N=5: F1 81.00 in Spanish.
(import 'ner_transformer.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
