// Dependency parsing: words, their parts of speech, an encoder with two BiLSTM layers, and a parser over its states.
// A config is `(import 'parts/parse.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'words.libsonnet') {
  local knobs = self,

  // Knobs, besides those of words.libsonnet. Their values are those of Kiperwasser & Goldberg (TACL 2016).
  embedding_dim:: 100,
  affix_dim:: 0,
  tag_dim:: 25,  // 0: the parser reads words only
  lstm_dim:: 125,  // each way
  num_layers:: 2,
  word_dropout:: 0.25,  // alpha: a word is unknown with the probability alpha / (alpha + its count); 0: never
  min_count:: if knobs.biaffine || knobs.word_dropout == 0 then 2 else 1,  // some words have to be unknown in training
  hidden_dim:: 100,
  biaffine:: false,  // the model is biaffine_parser of allennlp-models; it has no word_dropout
  projective:: true,
  dropout:: 0.3,
  optimizer:: { type: 'adam', lr: 0.001 },
  num_epochs:: 30,
  column:: 'upos',

  // Builders.
  encoder_dim:: knobs.input_dim + knobs.tag_dim,
  reader:: { type: 'conllu_trees', column: knobs.column },
  token_indexers+:: {},
  sorting_keys:: ['words'],
  validation_metric:: '+LAS',
  tag_embedding:: { embedding_dim: knobs.tag_dim, vocab_namespace: 'pos' },

  // The experiment.
  train_data_path: 'fixtures/pos/train.conllu',
  validation_data_path: 'fixtures/pos/dev.conllu',
  model: {
    text_field_embedder: { token_embedders: knobs.token_embedders },
    [if knobs.tag_dim > 0 then 'pos_tag_embedding']: knobs.tag_embedding,
    encoder: knobs.states_encoder,
    dropout: knobs.dropout,
  } + if knobs.biaffine then {
    type: 'biaffine_parser',
    arc_representation_dim: knobs.hidden_dim,
    tag_representation_dim: knobs.hidden_dim,
    input_dropout: knobs.dropout,
  } else {
    type: 'arc_mlp_parser',
    [if knobs.word_dropout > 0 then 'rare_words']: { alpha: knobs.word_dropout },
    arc_dim: knobs.hidden_dim,
    label_dim: knobs.hidden_dim,
    decoder: if knobs.projective then 'projective' else 'non_projective',
  },
})
