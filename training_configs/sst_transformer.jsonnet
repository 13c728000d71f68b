// The class of a review by a pretrained encoder of English; compare with BERT base: accuracy 53.2.
local model_name = 'sentence-transformers/all-MiniLM-L6-v2';  // a directory, or a model on huggingface.co
local reader = {
  layout: 'trees',
  token_indexers+: { transformer+: { model_name: model_name } },
};

(import 'trec_transformer.jsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  train_data_path: 'fixtures/sentences/reviews_train.txt',
  validation_data_path: 'fixtures/sentences/reviews_dev.txt',
  model+: {
    text_field_embedder+: { token_embedders+: { transformer+: { model_name: model_name } } },
  },
  trainer+: {
    optimizer+: { parameter_groups: [[['\\.transformer\\.'], { lr: 5e-5 }]] },
    num_epochs: 3,
  },
}
