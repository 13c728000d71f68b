// Table 2, NEF-F, N=5: F1 77.96 / 86.11 / 72.60 / 79.22 in Dutch / English / German / Spanish.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { tag_head: { type: 'softmax' } } }
