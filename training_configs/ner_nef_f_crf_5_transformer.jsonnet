// A transformer in place of words and affixes; compare with Table 2, NEF-CRF-F, N=5: F1 80.03 / 88.01 / 73.45 / 81.00.
(import 'ner_nef_f_crf_5.jsonnet') + (import 'parts/transformer.libsonnet') {
  transformer_model: 'bert-base-multilingual-cased',
}
