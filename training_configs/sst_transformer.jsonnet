// The class of a review by a pretrained encoder of English; compare with BERT base: accuracy 53.2.
(import 'parts/sst.libsonnet') + (import 'parts/transformer.libsonnet') {
  transformer_model: 'sentence-transformers/all-MiniLM-L6-v2',
  transformer_lr: 5e-5,
  dropout: 0.1,
  num_epochs: 3,
}
