// A BiLSTM-CRF over a pretrained encoder that is not trained.
(import '../../training_configs/ner_transformer.jsonnet') {
  train_parameters: false,
  state_cache: 'runs/states',
  lstm_dim: 100,
  num_epochs: 10,
}
