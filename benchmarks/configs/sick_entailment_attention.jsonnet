// Entailment by a BiLSTM and attention over its states (Section 2.2 of Yang et al., NAACL 2016).
(import '../../training_configs/parts/sick.libsonnet') {
  pooling: 'attention',
}
