// qe_nef_f.jsonnet (Table 3, NEF-F, N=5), with training curves: tensorboard --logdir <folder of the run>/log
(import 'qe_nef_f.jsonnet') {
  trainer+: {
    callbacks+: [{ type: 'tensorboard', summary_interval: 10 }],
  },
}
