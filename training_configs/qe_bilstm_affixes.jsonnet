// The BiLSTM for your own data: qe_nef_f_affixes without the decoder.
// Not in Table 3, whose BiLSTM has F1-MULT 39.71 on WMT16 English-German.
(import 'qe_nef_f_affixes.jsonnet') + { model+: { decoder:: null } }
