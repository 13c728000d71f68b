// qe_transformer for source words (Table 3 has words of the translation only).
(import '../../training_configs/qe_transformer.jsonnet') + {
  dataset_reader+: { tagged: 'source' },
  validation_dataset_reader+: { tagged: 'source' },
}
