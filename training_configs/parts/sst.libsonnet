// Sentiment in 5 classes, the Stanford Sentiment Treebank (SST): the label of the root of each tree.
// A config is `(import 'parts/sst.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'classes.libsonnet') {
  local knobs = self,

  layout:: 'trees',  // 'blank': a label, a blank and the sentence a line
  reader:: { type: 'labeled_sentences', layout: knobs.layout },

  train_data_path: 'fixtures/sentences/reviews_train.txt',
  validation_data_path: 'fixtures/sentences/reviews_dev.txt',
})
