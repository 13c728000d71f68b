// A pretrained encoder that reads source and translation together, with a linear layer: the recommended quality estimator.
// Compare with Table 3, BiLSTM: F1-MULT 39.71.
local model_name = 'multilingual-e5-small';  // a folder, a name on huggingface.co, or this one, which the extra `multilingual` installs
local indexers = { word_pieces: { type: 'word_pieces', model_name: model_name } };
local reader = { type: 'wmt_word_qe', source_token_indexers: indexers, target_token_indexers: indexers };

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/qe/train',
  validation_data_path: 'fixtures/qe/dev',
  datasets_for_vocab_creation: ['train'],
  vocabulary: { tokens_to_add: { labels: ['OK', 'BAD'] } },
  model: {
    type: 'word_qe_tagger',
    pair_embedder: {
      type: 'transformer_pair',
      model_name: model_name,
      aligned_source: true,  // add the mean of the aligned source words
      frozen_layers: 0,  // the embeddings are not trained
    },
    encoder: { type: 'pass_through', input_dim: null },  // null: the dimension of what comes before
    tag_head: { type: 'softmax' },
    dropout: 0.1,
    metrics: [{ type: 'word_qe' }, { type: 'best_threshold_word_qe' }, { type: 'calibration' }],
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 16, sorting_keys: ['target'] },
  },
  validation_data_loader: { batch_size: 64 },
  trainer: {
    type: 'nef',
    optimizer: {
      type: 'adamw',
      lr: 1e-3,
      weight_decay: 0.01,
      parameter_groups: [[['\\.transformer\\.'], { lr: 1e-4 }]],  // larger encoders need less, such as 2e-5
    },
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: 0.1 },
    num_epochs: 4,
    validation_metric: '+best_mcc',
    grad_norm: 1.0,
    checkpointer: { keep_most_recent_by_count: 1 },  // each has the encoder and the state of the optimizer
    callbacks: [{ type: 'learn_aligner' }, { type: 'save_transformer' }],
  },
  include_in_archive: ['aligner.json.gz', 'transformer'],
}
