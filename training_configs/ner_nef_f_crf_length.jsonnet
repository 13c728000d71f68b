// Table 2, NEF-CRF-F, N=L: F1 80.29 / 87.58 / 74.75 / 80.71 in Dutch / English / German / Spanish.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { num_steps: 'length' } } }
