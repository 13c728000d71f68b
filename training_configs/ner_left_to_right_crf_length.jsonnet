// Table 4, left to right with a CRF, N=L: F1 87.57 in English.
(import 'ner_nef_f_crf_length.jsonnet') + { model+: { decoder+: { attention: { type: 'left_to_right' } } } }
