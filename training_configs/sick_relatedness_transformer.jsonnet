// The relatedness of two sentences by a pretrained encoder of English that reads both together; compare with Table 3 of Tai, Socher
// & Manning (ACL 2015), dependency Tree-LSTM: Pearson 0.8676.
local model_name = 'sentence-transformers/all-MiniLM-L6-v2';  // a directory, or a model on huggingface.co
local token_indexers = { transformer: { type: 'word_pieces', model_name: model_name } };

(import 'sick_relatedness_bilstm.jsonnet') + {
  dataset_reader+: { token_indexers: token_indexers },
  validation_dataset_reader+: { token_indexers: token_indexers },
  vocabulary:: null,
  model: {
    type: 'sentence_pair',
    pair_transformer: {
      model_name: model_name,
      frozen_layers: 0,  // the embeddings are not trained
    },
    seq2vec_encoder: { type: 'attention_pooling', input_dim: 384 },  // the dimension of the encoder
    output: { type: 'scores' },
    hidden_dim: 50,
    dropout: 0.1,
  },
  trainer+: {
    local transformer = (import 'trec_transformer.jsonnet').trainer,
    optimizer: transformer.optimizer,
    learning_rate_scheduler: transformer.learning_rate_scheduler,
    callbacks: transformer.callbacks,
    grad_norm: 1.0,
    num_epochs: 5,
    patience:: null,
  },
  include_in_archive: ['transformer'],
}
