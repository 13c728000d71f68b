// Low-rank adapters on an encoder of about 100 languages, and NEF-F, N=5, with a CRF: the model `ner-multilingual`.
// Compare with Table 2, NEF-CRF-F, N=5: F1 81.00 in Spanish.
local reader = { token_indexers+: { transformer+: { title_case: true } } };  // of sentences in capitals

(import 'ner_nef_f_crf_5_transformer.jsonnet') + (import 'parts/low_rank_adapters.libsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  model+: { text_field_embedder+: { token_embedders+: { transformer+: $.adapters } } },
}
