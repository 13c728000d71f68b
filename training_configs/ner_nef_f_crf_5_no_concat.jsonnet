// Table 4, NEF-CRF-F, N=5, without concatenation: F1 87.47 in English.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder+: { concat_input: false } } }
