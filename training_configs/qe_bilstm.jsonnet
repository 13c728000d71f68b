// Table 3, BiLSTM: F1-MULT 39.71 on WMT16 English-German.
(import 'qe_nef_f.jsonnet') + { model+: { decoder:: null } }
