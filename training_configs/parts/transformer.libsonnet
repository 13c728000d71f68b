// A pretrained transformer, fine-tuned, to be added to the builder of any task:
// `(import 'parts/ner.libsonnet') + (import 'parts/transformer.libsonnet') { ... }`. It stands in place of words, affixes and
// the BiLSTM, or besides them where their knobs are set. For quality estimation (qe.libsonnet) and pairs of sentences
// (sick.libsonnet) it reads both sentences together.
//
// The defaults are for small encoders. Larger ones take a lower transformer_lr: 2e-5 is usual for 12 layers and 768
// dimensions.
(import 'knobs.libsonnet')({
  local knobs = self,

  // Knobs.
  transformer_model:: 'intfloat/multilingual-e5-small',  // a folder, or a name on huggingface.co
  transformer_dim:: size.dim,  // of its states; needed for models that the table below lacks, but not for taggers
  transformer_layers:: size.layers,  // the same; only for layer_decay
  transformer_length:: null,  // in pieces; longer sentences are read in parts. null: its limit, at most 512
  sub_token_mode:: if 'pooling' in super then 'first' else knobs.pooling,  // a word is its first piece; 'last', 'first_last', or 'avg': the mean of its pieces
  pooling:: if 'pooling' in super then super.pooling else 'first',  // another name of sub_token_mode, but in classes.libsonnet, whose pooling is of sentences
  last_layer_only:: true,  // false: a learned mix of all layers
  last_layers:: 1,  // above 1: a learned mix of the last layers
  train_parameters:: true,  // false: nothing of the transformer is trained
  frozen_layers:: 0,  // the embeddings, and so many first layers, are not trained; null: all of it is trained
  frozen_epochs:: 0,  // the first epochs, in which nothing of the transformer is trained
  state_cache:: null,  // a folder for the states of frozen layers, which are then computed once
  lora:: null,  // low-rank adapters are trained in place of the transformer: options of peft's LoraConfig, such as { r: 8 }
  save_weights:: true,  // false: archives have of the transformer only what is trained
  gradient_checkpointing:: false,  // true: less memory, more time
  precision:: 'float32',  // 'bfloat16': faster where the machine has it
  aligned_source:: false,  // of quality estimation: whether to add the mean of the aligned source words
  transformer_lr:: 1e-4,
  lr:: 1e-3,  // of all but the transformer
  layer_decay:: 1,  // below 1: each layer has the learning rate of the layer above it times this
  weight_decay:: 0.01,
  warmup:: 0.1,  // the share of the training in which the learning rates increase; then they decrease
  num_epochs:: 5,
  patience:: null,  // epochs without a better score, after which the training ends; null: none, as the learning rates still decrease
  batch_pieces:: null,  // in place of batch_size: the pieces of a batch, padding included, without special ones
  accumulation:: 1,  // the batches of an update
  use_amp:: false,  // mixed precision; needs a GPU
  lstm_dim:: 0,  // above 0: a BiLSTM above the transformer
  embedding_dim:: if reads_pairs then super.embedding_dim else 0,
  affix_dim:: 0,

  // By the last part of the model's name.
  local sizes = {
    'all-MiniLM-L6-v2': { dim: 384, layers: 6 },
    'bert-base-cased': { dim: 768, layers: 12 },
    'bert-base-multilingual-cased': { dim: 768, layers: 12 },
    'bert-large-cased': { dim: 1024, layers: 24 },
    'multilingual-e5-small': { dim: 384, layers: 12 },
    'roberta-base': { dim: 768, layers: 12 },
    'roberta-large': { dim: 1024, layers: 24 },
    'xlm-roberta-base': { dim: 768, layers: 12 },
    'xlm-roberta-large': { dim: 1024, layers: 24 },
  },
  local names = [name for name in std.split(knobs.transformer_model, '/') if name != ''],
  local name = names[std.length(names) - 1],
  local is_tagger = std.objectHasAll(knobs, 'tag_head') || estimates_quality,
  local unknown(knob) = error '%s: needed for the transformer_model %s; known are those of %s'
                              % [knob, knobs.transformer_model, std.join(', ', std.objectFields(sizes))],
  local size = if std.objectHas(sizes, name) then sizes[name] else {
    dim: if is_tagger then null else unknown('transformer_dim'),  // a tagger finds the dimensions itself
    layers: unknown('transformer_layers'),
  },

  // Builders.
  local estimates_quality = std.objectHasAll(knobs, 'tagged'),
  local compares = std.objectHasAll(knobs, 'relatedness'),
  local reads_pairs = estimates_quality || compares,
  local unused = [
    'affix_dim',
    'alignment_dropout',
    'character_dim',
    'embedding_dim',
    'embedding_l2',
    'lowercase',
    'min_count',
    'neighbours',
    'pretrained_file',
    'word_similarity',
  ],
  local builder = if compares then import 'sick.libsonnet' else import 'qe.libsonnet',
  local refused = [
    knob
    for knob in unused
    if reads_pairs && std.objectHasAll(builder, knob) && knobs[knob] != builder[knob]
  ],
  assert refused == [] : '%s: changes nothing with a transformer that reads both sentences' % refused[0],
  assert knobs.transformer_lr > 0 : 'transformer_lr: expected a number above 0, got %s' % knobs.transformer_lr,
  assert knobs.layer_decay > 0 && knobs.layer_decay <= 1
         : 'layer_decay: expected a number above 0 and at most 1, got %s' % knobs.layer_decay,
  assert knobs.warmup >= 0 && knobs.warmup <= 1 : 'warmup: expected a share from 0 to 1, got %s' % knobs.warmup,
  assert knobs.frozen_epochs >= 0 : 'frozen_epochs: expected a number from 0, got %s' % knobs.frozen_epochs,
  assert knobs.train_parameters || std.member([0, null, 'all'], knobs.frozen_layers)
         : 'frozen_layers: changes nothing where train_parameters is false',
  assert estimates_quality || !knobs.aligned_source : 'aligned_source: needs the builder of quality estimation',
  local indexer = { type: 'word_pieces', model_name: knobs.transformer_model },
  local trains = knobs.train_parameters && knobs.frozen_layers != 'all',  // 'all', as before
  local transformer = {
    model_name: knobs.transformer_model,
    max_length: knobs.transformer_length,
    sub_token_mode: if knobs.sub_token_mode == 'mean' then 'avg' else knobs.sub_token_mode,
    last_layer_only: knobs.last_layer_only,
    last_layers: knobs.last_layers,
    train_parameters: trains,
    // With adapters nothing else of it is trained, whatever is frozen.
    frozen_layers: if !trains || (knobs.lora != null && knobs.frozen_layers == 0) then null else knobs.frozen_layers,
    [if knobs.state_cache != null then 'state_cache']: knobs.state_cache,
    lora: knobs.lora,
    save_weights: knobs.save_weights,
    precision: knobs.precision,
    [if knobs.gradient_checkpointing then 'gradient_checkpointing']: true,
  },
  local is_known = knobs.transformer_dim != null,
  local word_dim = if is_known then (if knobs.sub_token_mode == 'first_last' then 2 else 1) * knobs.transformer_dim,
  local group(regex, depth) = [
    ['\\.transformer\\.' + regex],
    { lr: knobs.transformer_lr * std.pow(knobs.layer_decay, depth) },
  ],
  // From the embeddings up; the last layer has the learning rate `transformer_lr`.
  local layers = ['.*\\blayer\\.%d\\.' % layer for layer in std.range(0, knobs.transformer_layers - 1)],
  local by_layer = [group('(?!%s)' % std.join('|', layers), knobs.transformer_layers)] + [
    group(layers[i], knobs.transformer_layers - 1 - i)
    for i in std.range(0, knobs.transformer_layers - 1)
  ],
  token_indexers:: (if compares then {} else super.token_indexers) + { transformer: indexer },
  token_embedders+:: { transformer: { type: 'word_pieces' } + transformer },
  input_dim:: if is_known then (if compares then 0 else super.input_dim) + word_dim,
  encoder_dim:: if !is_known then null else if reads_pairs then (if knobs.aligned_source then 2 else 1) * word_dim else super.encoder_dim,
  optimizer:: {
    type: 'adamw',
    lr: knobs.lr,
    weight_decay: knobs.weight_decay,
    [if trains then 'parameter_groups']:
      if knobs.layer_decay == 1 then [group('', 0)] else by_layer,
  },
  local indexers = { word_pieces: indexer },
  local pair_reader = if estimates_quality then { source_token_indexers: indexers, target_token_indexers: indexers } else {},

  // The experiment.
  dataset_reader+: pair_reader,
  validation_dataset_reader+: pair_reader,
  vocabulary+: if reads_pairs then { min_count:: {} } else {},  // words are pieces of the transformer's own vocabulary
  model+: if reads_pairs then {
    [if compares then 'text_field_embedder']:: null,
    input_representation: { type: 'transformer_pair', aligned_source: knobs.aligned_source } + transformer,
  } else {},
  data_loader+: if knobs.batch_pieces == null then {} else {
    batch_sampler: { type: 'max_pieces', max_pieces: knobs.batch_pieces },
  },
  trainer+: {
    num_epochs: knobs.num_epochs,
    patience: knobs.patience,
    grad_norm: 1.0,
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: knobs.warmup },
    num_gradient_accumulation_steps: knobs.accumulation,
    use_amp: knobs.use_amp,
    callbacks+: [{ type: 'save_transformer' }] + (
      if knobs.frozen_epochs > 0 then [{ type: 'freeze_transformer', epochs: knobs.frozen_epochs }] else []
    ),
  },
  include_in_archive+: ['transformer'],
})
