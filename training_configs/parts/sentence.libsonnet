// What the taggers of single sentences share: words, a BiLSTM, a neural easy-first decoder, softmax or CRF.
// pos.libsonnet and ner.libsonnet add the task. words.libsonnet has the other knobs.
(import 'words.libsonnet') {
  local knobs = self,

  // Knobs.
  unknown_probability:: 0,  // of a word seen once to be unknown, drawn at each step of training; needs min_count 1
  max_tokens:: 49,  // longer training sentences are left out; null: none
  input_dropout:: 0,  // of the input of the encoder, besides dropout, which also acts on its output
  tag_head:: { type: 'softmax' },
  assert knobs.embedding_dim > 0 || knobs.unknown_probability == 0 : 'unknown_probability: needs embedding_dim',

  // The experiment.
  dataset_reader+: { max_tokens: knobs.max_tokens },
  model: {
    type: 'nef_tagger',
    input_representation: {
      type: 'sentence',
      text_field_embedder: { token_embedders: knobs.token_embedders },
      [if knobs.unknown_probability > 0 then 'rare_words']: { probability: knobs.unknown_probability },
      dropout: knobs.input_dropout,
    },
    encoder: knobs.encoder,
    [if knobs.decoder != null then 'decoder']: knobs.decoder,
    tag_head: knobs.tag_head,
    dropout: knobs.dropout,
    metrics: knobs.metrics,
  },
  trainer+: { callbacks+: [{ type: 'save_examples' }] },
  include_in_archive: ['examples.jsonl'],
}
