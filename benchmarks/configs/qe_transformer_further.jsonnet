// qe_transformer that trains the model of `runs/qe` further on other data, for an epoch: its upper six layers.
(import '../../training_configs/qe_transformer.jsonnet') {
  transformer_lr: 4e-5,
  lr: 2e-4,
  num_epochs: 1,
  vocabulary: { type: 'from_files', directory: 'runs/qe/model.tar.gz' },
  model: { type: 'from_archive', archive_file: 'runs/qe/model.tar.gz' },
  trainer+: { no_grad: ['.*\\.embeddings\\..*', '.*\\.layer\\.[0-5]\\..*'] },
}
