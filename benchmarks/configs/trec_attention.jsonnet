// The mean of the states of a BiLSTM, weighted by attention (Section 2.2 of Yang et al., NAACL 2016).
(import '../../training_configs/parts/trec.libsonnet') {
  pooling: 'attention',
}
