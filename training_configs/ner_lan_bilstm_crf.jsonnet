// BiLSTM-CRF of Section 4 of Cui & Zhang (EMNLP 2019), on named entities.
(import 'ner_lan.jsonnet') + {
  model+: {
    encoder: $.bilstm(num_layers=1),
    tag_head: { type: 'crf', constraints: 'BIO', average: 'none' },
  },
}
