// qe_transformer for source words.
(import '../../training_configs/qe_transformer.jsonnet') {
  tagged: 'source',
}
