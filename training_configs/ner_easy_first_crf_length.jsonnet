// Table 4, vanilla easy-first with a CRF, N=L: F1 87.46 in English.
(import 'ner_easy_first_crf_5.jsonnet') + { model+: { decoder+: { num_steps: 'length' } } }
