// Word-level quality estimation with a pretrained multilingual encoder, fine-tuned, that reads source and translation
// together. A config is `(import 'parts/qe_transformer.libsonnet') { ... }`; it has no knobs about embeddings, affixes,
// adjacent words and copied words.
//
// The learning rates are the usual ones for such encoders. They were not tuned.
(import 'knobs.libsonnet')((import 'qe.libsonnet') {
  local knobs = self,

  // Knobs.
  transformer_model:: 'xlm-roberta-base',  // a name on huggingface.co, or a folder
  transformer_dim:: 768,
  transformer_layers:: 12,  // only for layer_decay
  transformer_length:: null,  // in pieces; longer pairs are read in parts. null: its limit, at most 512
  pooling:: 'first',  // a word is its first piece; 'mean': the mean of its pieces
  last_layers:: 1,  // above 1: a learned mix of the last layers
  frozen_layers:: null,  // embeddings and first layers that are not trained, from 0; 'all': the whole transformer
  aligned_source:: false,  // whether to add the mean of the aligned source words
  transformer_lr:: 2e-5,
  lr:: 1e-3,  // of all but the transformer
  layer_decay:: 1,  // below 1: each layer has the learning rate of the layer above it times this
  weight_decay:: 0.01,
  warmup:: 0.1,  // the share of the training in which the learning rates increase; then they decrease
  num_epochs:: 5,
  batch_size:: 16,
  accumulation:: 1,  // the batches of an update
  use_amp:: false,  // mixed precision; needs a GPU
  bad_weight:: 1,  // `allennlp-nef calibrate` chooses the threshold
  metrics:: [{ type: 'word_qe' }, { type: 'best_threshold_word_qe' }, { type: 'calibration' }],
  validation_metric:: '+best_mcc',

  // Builders.
  local indexers = { word_pieces: { type: 'word_pieces', model_name: knobs.transformer_model } },
  local reader = { source_token_indexers: indexers, target_token_indexers: indexers },
  local states_dim = (if knobs.aligned_source then 2 else 1) * knobs.transformer_dim,
  local in_transformer = 'input_representation\\.transformer\\.',
  local group(regex, depth) = [
    [in_transformer + regex],
    { lr: knobs.transformer_lr * std.pow(knobs.layer_decay, depth) },
  ],
  // From the embeddings up; the last layer has the learning rate `transformer_lr`.
  local layers = ['.*\\blayer\\.%d\\.' % layer for layer in std.range(0, knobs.transformer_layers - 1)],
  local by_layer = [group('(?!%s)' % std.join('|', layers), knobs.transformer_layers)] + [
    group(layers[i], knobs.transformer_layers - 1 - i)
    for i in std.range(0, knobs.transformer_layers - 1)
  ],
  neural_easy_first(sketch_update, num_steps)::
    super.neural_easy_first(sketch_update, num_steps) + { input_dim: states_dim },
  optimizer:: {
    type: 'adamw',
    lr: knobs.lr,
    weight_decay: knobs.weight_decay,
    [if knobs.frozen_layers != 'all' then 'parameter_groups']:
      if knobs.layer_decay == 1 then [group('', 0)] else by_layer,
  },

  // The experiment.
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  vocabulary+: { min_count:: {} },  // words are pieces of the transformer's own vocabulary
  model+: {
    input_representation: {
      type: 'transformer_pair',
      model_name: knobs.transformer_model,
      max_length: knobs.transformer_length,
      pooling: knobs.pooling,
      last_layers: knobs.last_layers,
      frozen_layers: knobs.frozen_layers,
      aligned_source: knobs.aligned_source,
    },
    encoder: { type: 'pass_through', input_dim: states_dim },
  },
  trainer+: {
    num_epochs: knobs.num_epochs,
    patience: null,
    grad_norm: 1.0,
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: knobs.warmup },
    num_gradient_accumulation_steps: knobs.accumulation,
    use_amp: knobs.use_amp,
    callbacks+: [{ type: 'save_transformer' }],
  },
  include_in_archive+: ['transformer'],
}, unused=[
  'affix_dim',
  'alignment_dropout',
  'embedding_dim',
  'embedding_l2',
  'lstm_dim',
  'min_count',
  'neighbours',
  'word_similarity',
])
