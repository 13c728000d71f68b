// NEF-F, N=5, between the BiLSTM and the biaffine scores: in no published table; compare with parse_biaffine, whose figures in
// Table 4 of Dozat & Manning (ICLR 2017) are 95.74 UAS and 94.08 LAS.
(import 'parse_biaffine.jsonnet') {
  decoder: self.neural_easy_first('full', 5),
}
