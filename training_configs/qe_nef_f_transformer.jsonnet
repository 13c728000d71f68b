// NEF-F, N=5, over a pretrained encoder of both sentences; compare with Table 3, NEF-F, N=5: F1-MULT 41.18.
(import 'qe_transformer.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
