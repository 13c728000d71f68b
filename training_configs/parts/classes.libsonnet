// What the classifiers of sentences and the models of pairs share: words, a recurrent network, and a vector of the
// sentence, which is its last state (with a BiLSTM the last and the first) or a mean weighted by attention. Without a
// recurrent network (lstm_dim 0) it is that mean of the words' vectors.
//
// AllenNLP's --overrides act on the finished JSON: use them for paths, seeds and batch sizes, not for dimensions.
(import 'words.libsonnet') {
  local knobs = self,

  // Knobs, besides those of words.libsonnet for words, characters, lstm_dim, num_layers, decoder and training.
  embedding_dim:: 100,
  affix_dim:: 0,
  lowercase:: false,
  encoder_type:: 'lstm',  // or 'gru', 'rnn' (Elman)
  bidirectional:: true,
  recurrent_dropout:: 0,  // variational: one mask for all words of a sentence; needs a BiLSTM
  pooling:: if knobs.decoder == null && knobs.lstm_dim > 0 then 'state' else 'attention',
  lstm_dim:: 100,  // each way
  dropout:: 0.5,
  optimizer:: { type: 'adam', lr: 0.001 },

  // Builders.
  local is_variational = knobs.recurrent_dropout > 0,
  assert !is_variational || (knobs.encoder_type == 'lstm' && knobs.bidirectional) : 'recurrent_dropout: needs a BiLSTM',
  assert knobs.decoder == null || knobs.bidirectional : 'decoder: needs bidirectional',
  assert knobs.decoder == null || knobs.pooling == 'attention' : "decoder: needs the pooling 'attention'",
  assert knobs.lstm_dim > 0 || knobs.pooling == 'attention' : "lstm_dim 0: needs the pooling 'attention'",
  // basic_classifier wants the indices of words, also where only characters are embedded.
  token_indexers+:: { tokens: { type: 'single_id', lowercase_tokens: knobs.lowercase } },
  token_embedders+:: { [if knobs.embedding_dim == 0 then 'tokens']: { type: 'empty' } },
  states_dim:: if knobs.lstm_dim > 0 && !knobs.bidirectional then knobs.lstm_dim else super.states_dim,
  encoder:: if is_variational then {
    type: 'stacked_bidirectional_lstm',
    input_size: knobs.input_dim,
    hidden_size: knobs.lstm_dim,
    num_layers: knobs.num_layers,
    recurrent_dropout_probability: knobs.recurrent_dropout,
    use_highway: false,
  } else super.encoder + (if knobs.lstm_dim == 0 then {} else { bidirectional: knobs.bidirectional }),
  encoders:: if knobs.pooling == 'state' then { seq2vec_encoder: knobs.encoder } else {
    [if knobs.lstm_dim > 0 || knobs.decoder != null then 'seq2seq_encoder']: knobs.states_encoder,
    seq2vec_encoder: {
      type: 'attention_pooling',
      input_dim: knobs.states_dim + (if knobs.decoder == null then 0 else knobs.decoder.sketch_dim),
    },
  },
  model_type:: 'basic_classifier',
  validation_metric:: '+accuracy',

  // The experiment.
  model: knobs.encoders {
    type: knobs.model_type,
    text_field_embedder: { token_embedders: knobs.token_embedders },
    dropout: knobs.dropout,
  },
}
