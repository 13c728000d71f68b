// NEF-F, N=5, with a CRF: not in Table 3, which has no CRF rows; compare with NEF-F, N=5: F1-MULT 41.18.
(import '../../training_configs/qe_nef_f.jsonnet') + {
  model+: { tag_head: { type: 'crf', label_weights: { BAD: 5 } } },
}
