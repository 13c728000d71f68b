// BiLSTM-LAN, Table 7 of Cui & Zhang (EMNLP 2019): accuracy 96.26 / 95.59 / 97.28 / 96.55 in Danish / English / French / Swedish
// (UD 2.2).
(import 'pos_bilstm.jsonnet') + (import 'parts/lan.libsonnet')
