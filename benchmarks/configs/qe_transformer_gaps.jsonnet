// qe_transformer for gaps between the words of a translation.
(import '../../training_configs/qe_transformer.jsonnet') {
  tagged: 'gaps',
}
