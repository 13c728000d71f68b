// Table 4, right to left with a CRF, N=L: F1 87.53 in English.
(import 'ner_nef_f_crf_length.jsonnet') + { model+: { decoder+: { attention: { type: 'right_to_left' } } } }
