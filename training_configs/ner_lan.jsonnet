// BiLSTM-LAN, Section 3 of Cui & Zhang (EMNLP 2019), on named entities.
(import 'ner_bilstm.jsonnet') + (import 'parts/lan.libsonnet')
