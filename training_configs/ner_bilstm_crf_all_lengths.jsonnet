// ner_bilstm_crf with long training sentences; compare with Table 2, BiLSTM-CRF: F1 79.00 / 86.96 / 72.98 / 80.44.
(import 'ner_bilstm_crf.jsonnet') + { dataset_reader+: { max_tokens:: null } }
