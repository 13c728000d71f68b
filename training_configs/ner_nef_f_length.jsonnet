// Table 2, NEF-F, N=L: F1 78.46 / 86.36 / 72.35 / 78.87 in Dutch / English / German / Spanish.
(import 'ner_nef_f_5.jsonnet') + { model+: { decoder+: { num_steps: 'length' } } }
