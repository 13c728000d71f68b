// Low-rank adapters on an encoder of about 100 languages, and NEF-F, N=5: the model `pos-multilingual`.
// Compare with Table 1, NEF-F with csoftmax: accuracy 95.47.
local reader = { token_indexers+: { transformer+: { title_case: true } } };  // of sentences in capitals

(import 'pos_nef_f_transformer.jsonnet') + (import 'parts/low_rank_adapters.libsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  model+: { text_field_embedder+: { token_embedders+: { transformer+: $.adapters } } },
}
