// BiLSTM-softmax of Section 4 of Cui & Zhang (EMNLP 2019), on named entities.
(import '../../training_configs/ner_lan_bilstm_crf.jsonnet') + {
  model+: { tag_head: { type: 'softmax', average: 'none' } },
}
