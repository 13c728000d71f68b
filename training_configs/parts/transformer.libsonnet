// A pretrained transformer, fine-tuned, in place of words and affixes (or besides them, where their knobs are set):
// `(import 'parts/ner.libsonnet') + (import 'parts/transformer.libsonnet') { ... }`.
(import 'knobs.libsonnet')({
  local knobs = self,

  // Knobs.
  transformer_model:: 'bert-base-multilingual-cased',  // a name on huggingface.co, or a folder
  transformer_dim:: 768,
  transformer_length:: null,  // in pieces; longer sentences are read in parts. null: its limit, at most 512
  transformer_lr:: 2e-5,
  embedding_dim:: 0,
  affix_dim:: 0,
  lr:: 1e-3,  // of all but the transformer
  num_epochs:: 5,

  token_indexers+:: {
    transformer: { type: 'word_pieces', model_name: knobs.transformer_model },
  },
  token_embedders+:: {
    transformer: {
      type: 'word_pieces',
      model_name: knobs.transformer_model,
      max_length: knobs.transformer_length,
    },
  },
  input_dim:: super.input_dim + knobs.transformer_dim,
  optimizer:: {
    type: 'adamw',
    lr: knobs.lr,
    parameter_groups: [[['token_embedder_transformer\\.transformer\\.'], { lr: knobs.transformer_lr }]],
  },
  trainer+: {
    learning_rate_scheduler: { type: 'slanted_triangular' },
    grad_norm: 1.0,
    callbacks+: [{ type: 'save_transformer' }],
  },
  include_in_archive+: ['transformer'],
})
