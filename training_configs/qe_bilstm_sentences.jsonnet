// qe_nef_f_sentences without the decoder. Not in Table 3, whose BiLSTM has F1-MULT 39.71 on WMT16 English-German.
(import 'qe_nef_f_sentences.jsonnet') + { model+: { decoder:: null } }
