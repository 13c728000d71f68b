// Table 1, BiLSTM: accuracy 95.39, average of 12 languages.
(import 'pos_nef_f_csoftmax.jsonnet') + { model+: { decoder:: null } }
