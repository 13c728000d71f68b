// Part-of-speech tagging, Section 5.1 of Martins & Kreutzer (EMNLP 2017), with the settings of its Section 5.
// A config is `(import 'parts/pos.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'sentence.libsonnet') {
  local knobs = self,

  column:: 'upos',  // or 'xpos', 'feats'
  dropout:: 0.2,
  batch_size:: 16,
  reader:: { type: 'conllu_tags', column: knobs.column },
  metrics:: [{ type: 'tag_accuracy' }],
  validation_metric:: '+accuracy',
  crf:: { type: 'crf' },  // a tag_head

  train_data_path: 'fixtures/pos/train.conllu',
  validation_data_path: 'fixtures/pos/dev.conllu',
})
