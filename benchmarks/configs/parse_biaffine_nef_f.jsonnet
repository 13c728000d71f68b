// NEF-F, N=5, between the BiLSTM and the scores of arcs; compare with parse_biaffine, Table 4 of Dozat & Manning (2017).
(import '../../training_configs/parse_biaffine.jsonnet') + {
  model+: { encoder: (import '../../training_configs/parse_arc_mlp_nef_f.jsonnet').model.encoder },
}
