// NEF-F csoftmax, N=L, with learned halting: not in Table 1; compare with NEF-F csoftmax 95.47.
(import 'parts/pos.libsonnet') {
  decoder: self.neural_easy_first('full', 'length') { halting_rate: 0.3 },
  model+: { step_loss: { steps: 'all' }, halting: { type: 'learned' } },
}
