// ner_nef_f_crf_5 with long training sentences; compare with Table 2, NEF-CRF-F, N=5: F1 80.03 / 88.01 / 73.45 / 81.00.
(import 'ner_nef_f_crf_5.jsonnet') + { dataset_reader+: { max_tokens:: null } }
