// The class of a question by a pretrained encoder; compare with DistilBERT: accuracy 97.0 with 6 classes.
(import 'parts/trec.libsonnet') + (import 'parts/transformer.libsonnet') {
  num_epochs: 4,
  dropout: 0.1,
}
