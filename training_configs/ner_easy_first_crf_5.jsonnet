// Table 4, vanilla easy-first with a CRF, N=5: F1 87.17 in English.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { attention: { type: 'easy_first' } } } }
