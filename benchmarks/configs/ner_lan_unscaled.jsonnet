// BiLSTM-LAN whose output is not scaled, as in Section 4.5 of Cui & Zhang (EMNLP 2019), on named entities.
(import '../../training_configs/ner_lan.jsonnet') + { model+: { tag_head+: { scaled: false } } }
