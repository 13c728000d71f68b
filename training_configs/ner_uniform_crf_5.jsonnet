// Table 4, NEF-CRF-F with uniform attention, N=5: F1 87.46 in English.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { attention: { type: 'uniform' } } } }
