// Table 2, NEF-S, N=5: F1 77.37 / 86.40 / 72.27 / 75.80 in Dutch / English / German / Spanish.
(import 'ner_nef_s_crf_5.jsonnet') + { model+: { tag_head: { type: 'softmax' } } }
