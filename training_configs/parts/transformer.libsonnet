// A pretrained transformer, fine-tuned, in place of words and affixes (or besides them, where their knobs are set):
// `(import 'parts/ner.libsonnet') + (import 'parts/transformer.libsonnet') { ... }`.
(import 'knobs.libsonnet')({
  local knobs = self,

  // Knobs.
  transformer_model:: 'bert-base-multilingual-cased',  // a name on huggingface.co, or a folder
  transformer_dim:: 768,
  transformer_length:: 512,  // in word pieces; longer sentences are read in parts
  transformer_lr:: 2e-5,
  embedding_dim:: 0,
  affix_dim:: 0,
  lr:: 1e-3,  // of all but the transformer
  num_epochs:: 5,

  token_indexers+:: {
    transformer: {
      type: 'pretrained_transformer_mismatched',
      model_name: knobs.transformer_model,
      max_length: knobs.transformer_length,
    },
  },
  token_embedders+:: {
    transformer: {
      type: 'pretrained_transformer_mismatched',
      model_name: knobs.transformer_model,
      max_length: knobs.transformer_length,
      sub_token_mode: 'first',  // a word is its first piece, as in Section 5.3 of Devlin et al. (NAACL 2019)
    },
  },
  input_dim:: super.input_dim + knobs.transformer_dim,
  optimizer:: {
    type: 'adamw',
    lr: knobs.lr,
    parameter_groups: [[['transformer_model'], { lr: knobs.transformer_lr }]],
  },
  trainer+: {
    learning_rate_scheduler: { type: 'slanted_triangular' },
    grad_norm: 1.0,
  },
})
