// Table 2, BiLSTM-CRF: F1 79.00 / 86.96 / 72.98 / 80.44 in Dutch / English / German / Spanish.
(import 'ner_nef_f_crf_5.jsonnet') + { model+: { decoder:: null } }
