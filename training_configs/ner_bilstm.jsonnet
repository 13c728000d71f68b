// Table 2, BiLSTM: F1 76.56 / 85.74 / 70.05 / 77.00 in Dutch / English / German / Spanish.
(import 'ner_bilstm_crf.jsonnet') + { model+: { tag_head: { type: 'softmax' } } }
