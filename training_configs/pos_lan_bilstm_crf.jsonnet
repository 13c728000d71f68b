// BiLSTM-CRF, Table 7 of Cui & Zhang (EMNLP 2019): accuracy 95.77 / 95.41 / 96.94 / 96.06 in Danish / English / French / Swedish
// (UD 2.2).
(import 'pos_lan_bilstm_softmax.jsonnet') + { model+: { tag_head: { type: 'crf', average: 'none' } } }
