// Low-rank adapters on an encoder of about 100 languages: the model `qe-multilingual`, for all language pairs.
// Compare with Table 3, BiLSTM: F1-MULT 39.71.
local tokenizer = { type: 'punctuation', pieces_of: 'multilingual-e5-small' };  // for raw text
local reader = {
  eos: true,
  aligner: false,
  sentence_scores: true,
  source_tokenizer: tokenizer,
  target_tokenizer: tokenizer,
};

(import 'qe_transformer.jsonnet') + (import 'parts/low_rank_adapters.libsonnet') + {
  dataset_reader+: reader,
  validation_dataset_reader+: reader,
  train_data_path: ['fixtures/qe/train'],  // one for each language pair
  validation_data_path: ['fixtures/qe/dev'],
  model+: {
    pair_embedder+: $.adapters {
      lora_rank: 24,
      lora_alpha: 48.0,
      alignment_layer: 6,  // the encoder aligns the words, in all languages
      sub_token_mode: 'avg',
    },
    sentence_heads: { hter: {}, quality: {}, critical_error_probability: {} },  // each learns from sentences with its score
    metrics+: [{ type: 'sentence_scores' }],
  },
}
