// Classes of questions, TREC: 6 coarse or 50 fine ones (Li & Roth, COLING 2002).
// A config is `(import 'parts/trec.libsonnet') { ... }` with the few knobs (`::`) in which it differs.
(import 'knobs.libsonnet')((import 'classes.libsonnet') {
  local knobs = self,

  fine_labels:: false,
  reader:: { type: 'labeled_sentences', layout: 'trec', fine_labels: knobs.fine_labels },

  train_data_path: 'fixtures/sentences/questions_train.txt',
  validation_data_path: 'fixtures/sentences/questions_dev.txt',
})
