// BiLSTM-CRF, Table VIII of Wei et al. (no fusion: F1 91.01 in English, against 91.33 with two), on parts of speech.
(import 'pos_psa.jsonnet') + { model+: { encoder: $.bilstm } }
