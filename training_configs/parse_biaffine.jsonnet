// The biaffine parser of Dozat & Manning (ICLR 2017), Table 4, from allennlp-models (--include-package
// allennlp_models.structured_prediction), with the words, tags and BiLSTM of parse_arc_mlp. 95.74 UAS and 94.08 LAS in English (PTB)
// with larger dimensions.
(import 'parse_arc_mlp.jsonnet') + {
  model+: {
    type: 'biaffine_parser',
    arc_dim:: null,
    label_dim:: null,
    arc_representation_dim: 100,
    tag_representation_dim: 100,
    input_dropout: 0.3,
  },
}
