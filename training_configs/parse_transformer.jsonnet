// A pretrained encoder below the parser of Kiperwasser & Goldberg (TACL 2016), without parts of speech; compare with Table 1.
local transformer = import 'pos_transformer.jsonnet';
local reader = {
  tokenizer: transformer.dataset_reader.tokenizer,
  token_indexers: transformer.dataset_reader.token_indexers,
};
local dim = 384;  // of the encoder

(import 'parse_arc_mlp.jsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  vocabulary:: null,
  model+: {
    text_field_embedder: transformer.model.text_field_embedder,
    pos_tag_embedding:: null,
    encoder: { type: 'pass_through', input_dim: dim },
  },
  data_loader+: { batch_sampler+: { batch_size: 16 } },
  trainer: transformer.trainer { num_epochs: 12, validation_metric: '+LAS' },
  include_in_archive: ['transformer'],
}
