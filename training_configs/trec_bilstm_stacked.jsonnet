// Two layers of BiLSTM; compare with trec_bilstm, Table 3 of Zhou et al. (2015).
(import 'parts/trec.libsonnet') {
  num_layers: 2,
}
