// Table 2, NEF-F, N=10: F1 77.52 / 87.11 / 72.96 / 78.99 in Dutch / English / German / Spanish.
(import 'ner_nef_f_5.jsonnet') + { model+: { decoder+: { num_steps: 10 } } }
