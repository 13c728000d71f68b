// Table 2, NEF-CRF-F, N=10: F1 79.86 / 87.51 / 73.63 / 80.35 in Dutch / English / German / Spanish.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { num_steps: 10 } } }
