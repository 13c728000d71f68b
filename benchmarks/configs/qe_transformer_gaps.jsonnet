// qe_transformer for the gaps between the words of a translation (Table 3 has words of the translation only).
(import '../../training_configs/qe_transformer.jsonnet') + {
  dataset_reader+: { tagged: 'gaps' },
  validation_dataset_reader+: { tagged: 'gaps' },
}
