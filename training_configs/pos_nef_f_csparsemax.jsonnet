// NEF-F with constrained sparsemax, N=L: not in Table 1; compare with NEF-F csoftmax 95.47 and sparsemax 93.88.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { attention: { type: 'csparsemax' } },
}
