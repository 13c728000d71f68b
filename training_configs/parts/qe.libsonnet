// Word-level quality estimation, Section 5.3 of Martins & Kreutzer (EMNLP 2017), with the settings of its
// Section 5. A config is `(import 'parts/qe.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
//
// AllenNLP's --overrides act on the finished JSON: use them for paths, seeds and batch sizes, not for dimensions.
(import 'knobs.libsonnet')((import 'decoder.libsonnet') {
  local knobs = self,

  // Knobs.
  embedding_dim:: 64,
  lstm_dim:: 50,  // each way; 0: no BiLSTM
  dropout:: 0.1,
  bad_weight:: 5,
  min_count:: 2,  // words seen once in training are unknown
  affix_dim:: 0,  // of the prefixes, and of the suffixes, of a word; 0: no affixes
  neighbours:: true,  // the adjacent words, too, as in the authors' code; false: target and aligned source word, as in the text
  batch_size:: 32,  // sentences of like length
  // The paper's learning rate is 0.1, with one sentence a batch. With batches of 32, 0.05 has better scores on dev.
  optimizer:: { type: 'adagrad', lr: 0.05 },
  embedding_l2:: 0,  // times the sum of squares of all embeddings, added to the loss of a sentence
  decoder:: null,  // null: the BiLSTM baseline
  tag_head_type:: 'softmax',
  metrics:: [{ type: 'word_qe' }],
  validation_metric:: '+f1_mult',
  aligner:: true,  // of sentences without alignments: that of the archive, a file, or the options of an encoder
  alignment_dropout:: 0,  // the share of training sentences that lose their alignments at each step
  word_similarity:: false,  // whether the tagger sees which words are also in the source
  sentence_scores:: false,  // whether the tagger also learns the scores of sentences, those of the files .hter
  max_tokens:: 49,  // longer training sentences are left out; null: none
  average_decay:: 0,  // above 0: the model is the exponential moving average of its weights, with this decay
  weighting:: null,  // of the training sentences
  tagged:: 'target',  // or 'gaps', 'target_and_gaps', 'source'
  eos:: false,  // the layout of WMT22: translations end in <EOS>, which has a tag
  error_spans:: false,  // whether the data are files of error spans, and the labels OK, minor and major

  // Builders.
  local affixes = knobs.affix_dim > 0,
  local bad_labels = if knobs.error_spans then ['minor', 'major'] else ['BAD'],
  local ending = if knobs.error_spans then '_spans.tsv' else '',
  local sides = ['source', 'target'],
  local affix_namespaces = [
    '%s_affixes_%s_%d' % [side, affix, length]
    for side in sides
    for affix in ['prefix', 'suffix']
    for length in [1, 2, 3, 4]
  ],
  local indexers(side) = {
    tokens: { type: 'single_id', namespace: side + '_tokens' },
    affixes: { type: 'affixes', namespace: side + '_affixes' },
  },
  local reader = {
    type: 'wmt_word_qe',
    [if knobs.aligner != true then 'aligner']: knobs.aligner,
    [if knobs.word_similarity then 'word_similarity']: true,
    [if knobs.tagged != 'target' then 'tagged']: knobs.tagged,
    [if knobs.eos then 'eos']: true,
    [if knobs.error_spans then 'severities']: true,
    [if knobs.sentence_scores then 'sentence_scores']: true,
    [if affixes then 'source_token_indexers']: indexers('source'),
    [if affixes then 'target_token_indexers']: indexers('target'),
  },
  local word_dim = knobs.embedding_dim + 2 * knobs.affix_dim,
  encoder_dim:: (if knobs.neighbours then 6 else 2) * word_dim + (if knobs.word_similarity then 5 else 0),
  local embedder(side) = {
    token_embedders: {
      tokens: {
        type: 'embedding',
        embedding_dim: knobs.embedding_dim,
        vocab_namespace: side + '_tokens',
      },
      [if affixes then 'affixes']: {
        type: 'affixes',
        embedding_dim: knobs.affix_dim,
        namespace: side + '_affixes',
      },
    },
  },

  // The experiment.
  dataset_reader: reader {
    max_tokens: knobs.max_tokens,
    [if knobs.weighting != null then 'weighting']: knobs.weighting,
  },
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/qe/train' + ending,
  validation_data_path: 'fixtures/qe/dev' + ending,
  datasets_for_vocab_creation: ['train'],  // AllenNLP would count the words of the development data too
  vocabulary: {
    min_count: {
      [name]: knobs.min_count
      for name in [side + '_tokens' for side in sides] + (if affixes then affix_namespaces else [])
    },
    tokens_to_add: { labels: ['OK'] + bad_labels },  // even where the training data lack one
  },
  model: {
    type: 'nef_tagger',
    input_representation: {
      type: 'aligned_pair',
      source_embedder: embedder('source'),
      target_embedder: embedder('target'),
      neighbours: knobs.neighbours,
      [if knobs.alignment_dropout > 0 then 'alignment_dropout']: knobs.alignment_dropout,
      [if knobs.word_similarity then 'word_similarity']: true,
    },
    encoder: if knobs.lstm_dim == 0 then { type: 'pass_through', input_dim: knobs.encoder_dim } else {
      type: 'lstm',
      input_size: knobs.encoder_dim,
      hidden_size: knobs.lstm_dim,
      bidirectional: true,
    },
    [if knobs.decoder != null then 'decoder']: knobs.decoder,
    tag_head: {
      type: knobs.tag_head_type,
      [if knobs.bad_weight != 1 then 'label_weights']: { [label]: knobs.bad_weight for label in bad_labels },
    },
    dropout: knobs.dropout,
    [if knobs.sentence_scores then 'sentence_score']: {},
    metrics: knobs.metrics + (if knobs.sentence_scores then [{ type: 'sentence_scores' }] else []),
    [if knobs.embedding_l2 > 0 then 'regularizer']: {
      regexes: [['embedder', { type: 'l2', alpha: knobs.embedding_l2 }]],
    },
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: knobs.batch_size, sorting_keys: ['target'] },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: knobs.optimizer,
    num_epochs: 20,
    patience: 5,
    validation_metric: knobs.validation_metric,
    grad_norm: 5.0,
    [if knobs.average_decay > 0 then 'moving_average']: { type: 'resumable_exponential', decay: knobs.average_decay },
    checkpointer: { type: 'resumable' },
    callbacks: [
      { type: 'explain_out_of_memory' },
      { type: 'learn_aligner' },
      { type: 'save_examples' },
    ],
  },
  evaluation: { type: 'nef' },
  include_in_archive: ['aligner.json.gz', 'examples.jsonl'],
})
