// With long training sentences, too; compare with Table 2, BiLSTM-CRF: F1 79.00 / 86.96 / 72.98 / 80.44.
(import 'ner_bilstm_crf.jsonnet') {
  max_tokens: null,
}
