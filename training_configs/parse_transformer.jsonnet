// A pretrained encoder below the parser of Kiperwasser & Goldberg (TACL 2016), without parts of speech; compare with Table 1.
(import 'parts/parse.libsonnet') + (import 'parts/transformer.libsonnet') {
  tag_dim: 0,
  word_dropout: 0,
  batch_size: 16,
  num_epochs: 12,
}
