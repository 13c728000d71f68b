// The class of a question by a pretrained encoder of English; compare with DistilBERT: accuracy 97.0 with 6 classes.
(import 'parts/trec.libsonnet') + (import 'parts/transformer.libsonnet') {
  transformer_model: 'sentence-transformers/all-MiniLM-L6-v2',
  dropout: 0.1,
}
