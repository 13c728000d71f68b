// What the taggers of single sentences share: words and affixes (Section 5.1 of Martins & Kreutzer, EMNLP 2017) or
// characters, a BiLSTM, a neural easy-first decoder, softmax or CRF, Adagrad. pos.libsonnet and ner.libsonnet add the task.
//
// AllenNLP's --overrides act on the finished JSON: use them for paths, seeds and batch sizes, not for dimensions.
(import 'decoder.libsonnet') {
  local knobs = self,

  // Knobs.
  embedding_dim:: 64,  // 0: no words
  pretrained_file:: null,  // word vectors of embedding_dim, in the text format of GloVe or word2vec; all their words are known
  unknown_probability:: 0,  // of a word seen once to be unknown, drawn at each step of training; needs min_count 1
  affix_dim:: 50,  // 0: no affixes
  case_dim:: 0,  // 0: no case features
  character_dim:: 0,  // 0: no characters
  character_lstm_dim:: 25,  // each way
  input_dropout:: 0,  // of the input of the encoder, besides dropout, which also acts on its output
  encoder_type:: 'lstm',  // or 'gru'
  lstm_dim:: 50,  // each way
  num_layers:: 1,
  min_count:: 2,  // words and affixes seen once in training are unknown
  batch_size:: 32,  // sentences of like length
  optimizer:: { type: 'adagrad', lr: 0.1 },
  decoder:: null,  // null: the BiLSTM baseline
  tag_head:: { type: 'softmax' },
  num_epochs:: 20,
  patience:: 5,

  // Builders.
  local words = knobs.embedding_dim > 0,
  local pretrained = knobs.pretrained_file != null,
  local affixes = knobs.affix_dim > 0,
  local characters = knobs.character_dim > 0,
  assert words || !pretrained : 'pretrained_file: needs embedding_dim',
  assert words || knobs.unknown_probability == 0 : 'unknown_probability: needs embedding_dim',
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
  encoder:: {
    type: knobs.encoder_type,
    input_size: knobs.input_dim,
    hidden_size: knobs.lstm_dim,
    num_layers: knobs.num_layers,
    [if knobs.num_layers > 1 then 'dropout']: knobs.dropout,  // between layers
    bidirectional: true,
  },

  // The experiment.
  dataset_reader: knobs.reader { token_indexers: knobs.token_indexers, max_tokens: 49 },  // 50 words or more: left out of training
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
  model: {
    type: 'nef_tagger',
    input_representation: {
      type: 'sentence',
      text_field_embedder: { token_embedders: knobs.token_embedders },
      [if knobs.unknown_probability > 0 then 'rare_words']: { probability: knobs.unknown_probability },
      dropout: knobs.input_dropout,
    },
    encoder: knobs.encoder,
    [if knobs.decoder != null then 'decoder']: knobs.decoder,
    tag_head: knobs.tag_head,
    dropout: knobs.dropout,
    metrics: knobs.metrics,
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: knobs.batch_size, sorting_keys: ['tokens'] },
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
    callbacks: [{ type: 'explain_out_of_memory' }, { type: 'save_examples' }],
  },
  evaluation: { type: 'nef' },
  include_in_archive: ['examples.jsonl'],
}
