// What the models of single sentences and of pairs share: words and affixes (Section 5.1 of Martins & Kreutzer, EMNLP 2017)
// or characters, a BiLSTM, a neural easy-first decoder, Adagrad. sentence.libsonnet adds a tagger, classes.libsonnet others.
//
// AllenNLP's --overrides act on the finished JSON: use them for paths, seeds and batch sizes, not for dimensions.
(import 'decoder.libsonnet') {
  local knobs = self,

  // Knobs.
  embedding_dim:: 64,  // 0: no words
  pretrained_file:: null,  // word vectors of embedding_dim, in the text format of GloVe or word2vec; all their words are known
  affix_dim:: 50,  // 0: no affixes
  case_dim:: 0,  // 0: no case features
  character_dim:: 0,  // 0: no characters
  character_lstm_dim:: 25,  // each way
  encoder_type:: 'lstm',  // or 'gru'
  lstm_dim:: 50,  // each way; 0: no BiLSTM
  num_layers:: 1,
  min_count:: 2,  // words and affixes seen once in training are unknown
  batch_size:: 32,  // sentences of like length
  optimizer:: { type: 'adagrad', lr: 0.1 },
  decoder:: null,  // null: no decoder, the baseline
  num_epochs:: 20,
  patience:: 5,

  // Builders.
  local words = knobs.embedding_dim > 0,
  local pretrained = knobs.pretrained_file != null,
  local affixes = knobs.affix_dim > 0,
  local characters = knobs.character_dim > 0,
  assert words || !pretrained : 'pretrained_file: needs embedding_dim',
  assert affixes || knobs.case_dim == 0 : 'case_dim: needs affix_dim',
  local affix_namespaces = [
    'affixes_%s_%d' % [side, length]
    for side in ['prefix', 'suffix']
    for length in [1, 2, 3, 4]
  ],
  token_indexers:: {
    [if words then 'tokens']: { type: 'single_id' },
    [if affixes then 'affixes']: { type: 'affixes', case: knobs.case_dim > 0 },
    [if characters then 'characters']: { type: 'characters', min_padding_length: 1 },
  },
  token_embedders:: {
    [if words then 'tokens']: {
      type: 'embedding',
      embedding_dim: knobs.embedding_dim,
      [if pretrained then 'pretrained_file']: knobs.pretrained_file,
    },
    [if affixes then 'affixes']: {
      type: 'affixes',
      embedding_dim: knobs.affix_dim,
      case_dim: knobs.case_dim,
    },
    [if characters then 'characters']: {
      type: 'character_encoding',
      embedding: { embedding_dim: knobs.character_dim, vocab_namespace: 'token_characters' },
      encoder: {
        type: 'lstm',
        input_size: knobs.character_dim,
        hidden_size: knobs.character_lstm_dim,
        bidirectional: true,
      },
    },
  },
  input_dim:: knobs.embedding_dim + 2 * knobs.affix_dim + knobs.case_dim
              + (if characters then 2 * knobs.character_lstm_dim else 0),
  encoder_dim:: knobs.input_dim,  // of the input of the encoder
  encoder:: if knobs.lstm_dim == 0 then { type: 'pass_through', input_dim: knobs.encoder_dim } else {
    type: knobs.encoder_type,
    input_size: knobs.encoder_dim,
    hidden_size: knobs.lstm_dim,
    num_layers: knobs.num_layers,
    [if knobs.num_layers > 1 then 'dropout']: knobs.dropout,  // between layers
    bidirectional: true,
  },
  // With the decoder, for models that have no option of their own for it.
  states_encoder:: if knobs.decoder == null then knobs.encoder else if knobs.lstm_dim == 0 then knobs.decoder else {
    type: 'compose',
    encoders: [knobs.encoder, knobs.decoder],
  },

  sorting_keys:: ['tokens'],

  // The experiment.
  dataset_reader: knobs.reader { token_indexers: knobs.token_indexers },
  validation_dataset_reader: knobs.reader { token_indexers: knobs.token_indexers },
  datasets_for_vocab_creation: ['train'],  // AllenNLP would count the words of the development data too
  vocabulary: {
    min_count: {
      [name]: knobs.min_count
      for name in (if words then ['tokens'] else []) + (if affixes then affix_namespaces else [])
    },
    [if pretrained then 'pretrained_files']: { tokens: knobs.pretrained_file },
    [if pretrained then 'min_pretrained_embeddings']: { tokens: -1 },  // all of them
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: knobs.batch_size, sorting_keys: knobs.sorting_keys },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: knobs.optimizer,
    num_epochs: knobs.num_epochs,
    patience: knobs.patience,
    validation_metric: knobs.validation_metric,
    grad_norm: 5.0,
    checkpointer: { type: 'resumable' },
    callbacks: [{ type: 'explain_out_of_memory' }],
  },
  evaluation: { type: 'nef' },
}
