// qe_nef_f (Table 3, NEF-F, N=5) with training curves: tensorboard --logdir <serialization directory>/log
(import 'qe_nef_f.jsonnet') + {
  trainer+: { callbacks+: [{ type: 'tensorboard', summary_interval: 10 }] },
}
