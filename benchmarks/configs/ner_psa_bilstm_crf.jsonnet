// BiLSTM-CRF, Table VIII of Wei et al. (no fusion: F1 91.01 in English, against 91.33 with two), on named entities.
(import '../../training_configs/ner_psa.jsonnet') + { model+: { encoder: $.bilstm } }
