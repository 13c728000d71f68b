// The relatedness of two sentences by a pretrained encoder of English that reads both together; compare with Table 3 of
// Tai, Socher & Manning (ACL 2015): Pearson 0.8676.
(import 'parts/sick.libsonnet') + (import 'parts/transformer.libsonnet') {
  transformer_model: 'sentence-transformers/all-MiniLM-L6-v2',
  relatedness: true,
  dropout: 0.1,
}
