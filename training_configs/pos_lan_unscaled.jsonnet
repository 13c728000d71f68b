// BiLSTM-LAN whose output is not scaled, as in Section 4.5 of Cui & Zhang (EMNLP 2019): it learns from little data.
(import 'pos_lan.jsonnet') + { model+: { tag_head+: { scaled: false } } }
