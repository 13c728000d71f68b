// A pretrained encoder with a linear layer: the recommended part-of-speech tagger. Compare with Table 1, BiLSTM: accuracy 95.39.
local model_name = 'multilingual-e5-small';  // a folder, a name on huggingface.co, or this one, which the extra `multilingual` installs
local reader = {
  type: 'conllu_tags',
  column: 'upos',
  local indexers = self.token_indexers,
  tokenizer: { type: 'punctuation', pieces_of: indexers.transformer.model_name },  // for raw text
  token_indexers: { transformer: { type: 'word_pieces', model_name: model_name } },
};

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/pos/train.conllu',
  validation_data_path: 'fixtures/pos/dev.conllu',
  datasets_for_vocab_creation: ['train'],
  model: {
    type: 'nef_tagger',
    text_field_embedder: {
      token_embedders: {
        transformer: {
          type: 'word_pieces',
          model_name: model_name,
          frozen_layers: 0,  // the embeddings are not trained
        },
      },
    },
    encoder: { type: 'pass_through', input_dim: null },  // null: the dimension of what comes before
    tag_head: { type: 'softmax' },
    dropout: 0.2,
    metrics: [{ type: 'tag_accuracy' }],
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 16, sorting_keys: ['tokens'] },
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
    num_epochs: 10,
    validation_metric: '+accuracy',
    grad_norm: 1.0,
    checkpointer: { keep_most_recent_by_count: 1 },  // each has the encoder and the state of the optimizer
    callbacks: [{ type: 'save_transformer' }],
  },
  include_in_archive: ['transformer'],
}
