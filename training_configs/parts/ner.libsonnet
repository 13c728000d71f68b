// Named entities, Section 5.2 of Martins & Kreutzer (EMNLP 2017), with the settings of its Section 5.
// A config is `(import 'parts/ner.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'sentence.libsonnet') {
  local knobs = self,

  tag_scheme:: 'BIO',  // or 'BIOUL'
  dropout:: 0.3,
  // The paper's learning rate is 0.1, with one sentence a batch. With batches of 8, 0.05 has better scores on dev.
  batch_size:: 8,
  optimizer:: { type: 'adagrad', lr: 0.05 },
  reader:: { type: 'conll_tags', tag_scheme: knobs.tag_scheme },
  metrics:: [{ type: 'conlleval' }],
  validation_metric:: '+f1-overall',
  crf:: { type: 'crf', constraints: knobs.tag_scheme },  // a tag_head

  train_data_path: 'fixtures/ner/train.conll',
  validation_data_path: 'fixtures/ner/dev.conll',
})
