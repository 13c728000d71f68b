// BiLSTM-softmax, Table 7 of Cui & Zhang (EMNLP 2019): accuracy 95.90 / 95.36 / 97.01 / 95.98 in Danish / English / French / Swedish
// (UD 2.2).
(import 'pos_lan.jsonnet') + {
  model+: { encoder: $.bilstm(num_layers=1), tag_head: { type: 'softmax', average: 'none' } },
}
