// Table 2, NEF-CRF-S, N=5: F1 78.89 / 88.33 / 72.37 / 80.21 in Dutch / English / German / Spanish.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { sketch_update: 'single' } } }
