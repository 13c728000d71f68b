// NEF-F, N=5, between the BiLSTM and a pooling by attention; compare with Table 2 of Tai, Socher & Manning (ACL 2015).
(import 'sst_bilstm.jsonnet') + { model: (import 'trec_nef_f.jsonnet').model }
