// NEF-F csoftmax, N=L, with learned bounds of the attention: not in Table 1; compare with NEF-F csoftmax 95.47.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { learned_bounds: true },
}
